use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Takes as many open files as the system allows this process: a switch is two connections, and the usual limit of 1024 ends
/// at five hundred of them.
pub fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    // Where that is refused, the limit stays as it is, and accepting says so when it is reached.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
