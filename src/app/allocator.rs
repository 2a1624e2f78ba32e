//! Memory that is free goes back to the system, also while nothing happens.
#![expect(unsafe_code, reason = "a function of the allocator that its crate does not name")]

use std::time::Duration;

use mimalloc as _;

/// As long as mimalloc keeps free pages for whoever asks next (`mi_option_purge_delay`).
const PAUSE: Duration = Duration::from_secs(1);

unsafe extern "C" {
    /// Gives back what is free in the heap of the C library, `keep` bytes at the end of which stay. Source: malloc_trim(3).
    #[cfg(target_env = "gnu")]
    safe fn malloc_trim(keep: usize) -> i32;
    /// Gives back what has been free for a while; all that is free, if forced. Source: mimalloc.h.
    safe fn mi_collect(force: bool);
}

/// The allocator gives pages back when somebody asks for others: after the last commit of many, nobody does.
pub(super) async fn give_back() {
    // libyang has read the models, and is not asked again.
    #[cfg(target_env = "gnu")]
    malloc_trim(0);
    let mut pause = tokio::time::interval(PAUSE);
    loop {
        pause.tick().await;
        mi_collect(false);
    }
}
