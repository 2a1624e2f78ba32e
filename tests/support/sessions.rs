//! Sessions with switches and the programmers behind them: nothing else of a controller.

use std::collections::BTreeMap;
use std::time::Duration;

use coeus::net::Dpid;
use coeus::pipeline::Delta;
use coeus::programmer::{Mandate, Programmers};
use coeus::southbound::openflow;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

pub struct Sessions {
    pub programmers: Programmers,
    pub runtime: Runtime,
    /// Where OpenFlow listens, on the loopback interface.
    pub port: u16,
}

impl Sessions {
    /// `audits`: how often a switch is read back, zero for never; `desired`: what switches should hold.
    pub fn start(
        runtime: Runtime,
        audits: Duration,
        mandate: Mandate,
        desired: BTreeMap<Dpid, Delta>,
    ) -> Sessions {
        let (reports, mut reported) = mpsc::channel(64);
        let (connected, mut switches) = mpsc::channel(4);
        let (packets, mut punted) = mpsc::channel(4);
        let (ended, mut all_ended) = mpsc::channel(4);
        let programmers = Programmers::new(reports, audits);
        programmers.apply(1, desired);
        programmers.open_gate(mandate, BTreeMap::new());
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        runtime.spawn(openflow::serve(
            listener,
            openflow::Settings::default(),
            connected,
            openflow::Unasked { packets, ended },
            std::future::pending(),
        ));
        let registry = programmers.clone();
        runtime.spawn(async move {
            while let Some(switch) = switches.recv().await {
                registry.connected(switch);
            }
        });
        runtime.spawn(async move { while reported.recv().await.is_some() {} });
        runtime.spawn(async move { while punted.recv().await.is_some() {} });
        runtime.spawn(async move { while all_ended.recv().await.is_some() {} });
        Sessions { programmers, runtime, port }
    }
}
