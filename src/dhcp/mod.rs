//! DHCP placeholder until the next commit.
pub async fn run(
    mut punts: tokio::sync::mpsc::Receiver<crate::southbound::openflow::PacketIn>,
    _datastore: crate::datastore::Handle,
    _programmers: crate::programmer::Programmers,
) {
    while punts.recv().await.is_some() {}
}
