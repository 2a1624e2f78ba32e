/// What a packet is to a service, in the low bits of reg7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ServiceWay {
    /// Nothing.
    None = 0,
    /// On its way to an endpoint.
    Request = 1,
    /// On its way back to the client.
    Answer = 2,
    /// From an endpoint to itself.
    Hairpin = 3,
}

impl ServiceWay {
    pub(super) const MASK: u32 = 3;
}
