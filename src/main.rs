//! The `coeus` program: reads settings, starts the controller, waits, stops in order.
//!
//! Exit codes of `serve`: 0 stopped as asked, 1 it could not start or run, 2 the command line is wrong, 3 the lease
//! of the active controller is lost. Those of the other commands
//! are in `cli::EXIT_CODES`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use coeus::accounts::{TokenCommand, UserCommand};
use coeus::app::{self, ServeOptions, Settings, StoreAccess, StoreAt};
use coeus::cli;
use coeus::pipeline::golden;
use coeus::soak::{self, Soak};
use coeus::{observe, simulation};

/// Exit code of `serve` when another controller may be the active one.
const LEASE_LOST: i32 = 3;

/// Many small trees are made and dropped on several threads: the system's allocator takes a third longer for them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A model-driven network datastore and flow programmer for containers on Open vSwitch.
#[derive(Parser)]
#[command(version, propagate_version = true, max_term_width = 100, after_help = cli::EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    connection: cli::Connection,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the controller
    Serve(Box<ServeOptions>),
    /// Users: add, remove, list, change passwords and groups; works beside a running controller
    User {
        /// The data directory of the controller
        #[arg(long, env = "COEUS_DATA_DIR", value_name = "DIR", default_value = "/var/lib/coeus")]
        data_dir: PathBuf,
        #[command(subcommand)]
        command: UserCommand,
    },
    /// Bearer tokens: create, list and revoke them; works beside a running controller
    Token {
        /// The data directory of the controller
        #[arg(long, env = "COEUS_DATA_DIR", value_name = "DIR", default_value = "/var/lib/coeus")]
        data_dir: PathBuf,
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// Datastores: bring one elsewhere
    Store {
        #[command(subcommand)]
        command: StoreCommand,
    },
    /// Run the controller with a simulated network in one process, and print what that costs
    Sim(simulation::Options),
    /// Run a controller under random writes and restarts, and compare its switches with what follows from its data
    Soak(Soak),
    #[command(flatten)]
    Client(cli::Command),
    /// Print shell completions
    #[command(visible_alias = "completion")]
    Completions { shell: clap_complete::Shell },
    /// Print the manual page
    Man,
}

#[derive(Subcommand)]
enum StoreCommand {
    /// Bring all that FROM holds into TO, which is empty, while no controller runs on either
    #[command(
        after_help = "A store is sled:DIR (the data directory of a controller) or etcd://HOST:PORT[,HOST:PORT...]/NAME."
    )]
    Copy {
        from: StoreAt,
        to: StoreAt,
        #[command(flatten)]
        access: StoreAccess,
    },
}

fn main() -> ExitCode {
    // The allocator asks for huge pages, of which small trees fill little: they cost a third more memory and no less time.
    // A kernel that knows no such switch has none to turn off.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    let Cli { connection, command } = Cli::parse();
    let outcome = match command {
        Command::Client(cli::Command::Flows(cli::Flows { data_dir: Some(data_dir), switch, .. })) => {
            flows(&data_dir, switch.as_deref())
        }
        Command::Client(command) => {
            if command.runs_on()
                && let Err(message) = log_to_stderr()
            {
                eprintln!("coeus: {message}");
                return ExitCode::FAILURE;
            }
            return match cli::run(&connection, &command) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => {
                    eprintln!("coeus: {failure}");
                    failure.into()
                }
            };
        }
        Command::Serve(options) => serve(*options),
        Command::User { data_dir, command } => command.run(&data_dir).and_then(|text| show(&text)),
        Command::Token { data_dir, command } => command.run(&data_dir).and_then(|text| show(&text)),
        Command::Sim(options) => simulation::run(&options).and_then(|report| show(format!("{report}\n"))),
        Command::Soak(asked) => soak::run(&asked).map_err(|error| error.to_string()),
        Command::Store { command: StoreCommand::Copy { from, to, access } } => copy(&from, &to, access),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "coeus", &mut text);
            show(&text)
        }
        Command::Man => {
            let mut text = Vec::new();
            let rendered = clap_mangen::Man::new(Cli::command()).render(&mut text);
            rendered.map_err(|error| error.to_string()).and_then(|()| show(&text))
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("coeus: {message}");
            ExitCode::FAILURE
        }
    }
}

fn log_to_stderr() -> Result<(), String> {
    let filter = std::env::var("COEUS_LOG").unwrap_or_else(|_| "info".into());
    observe::start(&filter, observe::LogFormat::Text)
}

fn show(text: impl AsRef<[u8]>) -> Result<(), String> {
    cli::print(text).map_err(|failure| failure.to_string())
}

fn serve(options: ServeOptions) -> Result<(), String> {
    let password = std::env::var("COEUS_ADMIN_PASSWORD").ok();
    let kube = Some(options.kube.clone()).filter(|kube| kube.kube);
    let settings = Settings::from(options, password).map_err(|error| error.to_string())?;
    observe::start(&settings.log, settings.log_format)?;
    app::allow_many_files();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let outcome = runtime.block_on(async {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
        // Elsewhere: a store that is away is asked for seconds, and whoever ends the program meanwhile is heard.
        let preparing = tokio::spawn(async move { app::Prepared::when_there(&settings).await });
        let prepared = tokio::select! {
            prepared = preparing => {
                prepared.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?
            }
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
        };
        let lease = tokio::select! {
            lease = prepared.lead() => lease.map(Some),
            _ = terminate.recv() => Ok(None),
            _ = interrupt.recv() => Ok(None),
        };
        let Some(lease) = lease.map_err(|error| error.to_string())? else {
            prepared.stop().await;
            return Ok(());
        };
        let elected = lease.as_ref().map(app::Elected::from);
        let lease = lease.map(Watched::new);
        let controller = match prepared.activate(elected).await {
            Ok(controller) => controller,
            Err(error) => {
                resign(lease).await;
                return Err(error.to_string());
            }
        };
        let plain = controller.restconf_plain.map_or(String::new(), |plain| format!(" and http://{plain}"));
        let following = match kube {
            Some(kube) => match app::kube::follow(&controller, kube).await {
                Ok(following) => Some(following),
                Err(failure) => {
                    controller.stop().await;
                    resign(lease).await;
                    return Err(failure.to_string());
                }
            },
            None => None,
        };
        println!(
            "ready: RESTCONF on https://{}{plain}, OpenFlow on {}, OVSDB on {}",
            controller.restconf, controller.openflow, controller.ovsdb
        );
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        if let Some(following) = following {
            following.stop().await;
        }
        controller.stop().await;
        resign(lease).await;
        Ok(())
    });
    // What has to be finished is: nobody waits for a store that does not answer.
    runtime.shutdown_background();
    outcome
}

/// A lease, and the task that ends the program when it is lost.
struct Watched(app::Lease, tokio::task::JoinHandle<()>);

impl Watched {
    fn new(lease: app::Lease) -> Watched {
        let lost = lease.lost();
        Watched(lease, tokio::spawn(async move { ended(&lost.await) }))
    }
}

async fn resign(lease: Option<Watched>) {
    if let Some(Watched(lease, watching)) = lease {
        // What is given back is not lost.
        watching.abort();
        lease.resign().await;
    }
}

/// Ends the program at once: another controller may be programming the switches already.
fn ended(reason: &str) {
    tracing::error!(reason, "the lease of the active controller is lost; the program ends");
    eprintln!(
        "coeus: another controller may be the active one now: the lease is lost ({reason}); start this one again as a standby"
    );
    std::process::exit(LEASE_LOST);
}

fn copy(from: &StoreAt, to: &StoreAt, access: StoreAccess) -> Result<(), String> {
    let credentials = access.credentials().map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let copied = runtime.block_on(app::copy(from, to, &credentials)).map_err(|error| error.to_string())?;
    show(format!(
        "copied up to revision {}, {} records of it behind the checkpoint\n",
        copied.revision, copied.records
    ))
}

fn flows(data_dir: &std::path::Path, switch: Option<&str>) -> Result<(), String> {
    if !data_dir.join("store").is_dir() {
        return Err(format!("{} holds no datastore; name the controller's --data-dir", data_dir.display()));
    }
    let mut text = String::new();
    for (dpid, tables) in soak::computed(data_dir)? {
        if switch.is_none_or(|wanted| wanted == dpid.to_string()) {
            text += &format!("# switch {dpid}\n{}", golden::print(&tables));
        }
    }
    show(&text)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde::Deserialize;
    use serde_json::Value;

    use super::*;

    fn texts(folder: &str) -> Vec<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.map(|path| std::fs::read_to_string(path).unwrap()).collect()
    }

    /// The command lines of manifests and units.
    fn written() -> Vec<Vec<String>> {
        let mut found = Vec::new();
        for text in texts("deploy/kubernetes/base") {
            for document in serde_norway::Deserializer::from_str(&text) {
                let document = Value::deserialize(document).unwrap();
                let containers = document.pointer("/spec/template/spec/containers").and_then(Value::as_array);
                let words = |one: &Value| {
                    one["args"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|word| word.as_str().unwrap().to_owned())
                        .collect()
                };
                found.extend(
                    containers.into_iter().flatten().filter(|one| one.get("command").is_none()).map(words),
                );
            }
        }
        for text in texts("deploy/systemd") {
            let lines = text.lines().filter_map(|line| line.strip_prefix("ExecStart=/usr/bin/coeus "));
            found.extend(lines.map(|line| line.split(' ').map(str::to_owned).collect()));
        }
        found
    }

    #[test]
    fn what_manifests_and_units_run_can_be_run() {
        let written = written();
        assert_eq!(written.len(), 6, "{written:?}");
        for words in written {
            if let Err(error) = Cli::try_parse_from(std::iter::once("coeus".to_owned()).chain(words.clone()))
            {
                panic!("{words:?}: {error}");
            }
        }
    }
}
