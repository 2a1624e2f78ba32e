//! Network namespaces of containers.
#![allow(
    unsafe_code,
    reason = "a thread that leaves a namespace (unshare(2)) is for who calls it to answer for"
)]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// `f_type` of a namespace's file (linux/magic.h).
const NSFS_MAGIC: u64 = 0x6e73_6673;

/// An open network namespace.
pub struct Namespace {
    file: File,
    path: PathBuf,
}

impl Namespace {
    /// # Errors
    /// When there is none at the path.
    pub fn open(path: &str) -> io::Result<Namespace> {
        let file = File::open(path)?;
        if !is_namespace(&file)? {
            return Err(io::Error::other("it is a file, and no namespace is mounted on it"));
        }
        Ok(Namespace { file, path: path.into() })
    }

    /// A new one, without a name: it is there for as long as this is held, or something is in it.
    ///
    /// # Errors
    /// When the kernel gives none.
    pub fn fresh() -> io::Result<Namespace> {
        let leave = || {
            // SAFETY: only this thread leaves its network namespace, and ends; no file and no memory is shared less than before.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
            Namespace::open("/proc/thread-self/ns/net")
        };
        let thread = std::thread::Builder::new().name("a namespace".into()).spawn(leave)?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that makes it panicked")))
    }

    pub fn raw(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// The namespace as a file of its own.
    ///
    /// # Errors
    /// When the process has too many.
    pub fn file(&self) -> io::Result<OwnedFd> {
        self.file.try_clone().map(OwnedFd::from)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Does something within, on a thread of its own: a namespace is a thread's, and that one ends.
    ///
    /// # Errors
    /// When it cannot be entered.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        std::thread::scope(|scope| {
            let inside = || {
                move_into_link_name_space(self.file.as_fd(), Some(LinkNameSpaceType::Network))?;
                Ok(work())
            };
            let thread = std::thread::Builder::new().name("in a pod".into()).spawn_scoped(scope, inside)?;
            thread.join().unwrap_or_else(|_| Err(io::Error::other("the work within panicked")))
        })
    }
}

fn is_namespace(file: &File) -> io::Result<bool> {
    let is_nsfs = |kind: u64| kind == NSFS_MAGIC;
    Ok(is_nsfs(rustix::fs::fstatfs(file)?.f_type as u64))
}

/// Whether a path leads to no namespace: nothing is there, or none is mounted there. Any doubt is a no.
pub fn is_gone(path: &str) -> bool {
    match File::open(path) {
        Ok(file) => is_namespace(&file).is_ok_and(|is| !is),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_certain_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("left");
        std::fs::write(&file, "").unwrap();
        assert!(is_gone(file.to_str().unwrap()));
        assert!(is_gone(folder.path().join("never").to_str().unwrap()));
        assert!(!is_gone("/proc/self/ns/net"));
        assert!(Namespace::open(file.to_str().unwrap()).is_err());
        assert!(Namespace::open("/proc/self/ns/net").is_ok());
    }
}
