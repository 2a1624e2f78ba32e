//! The connection to a controller: where it is, who we are, and requests.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use serde_json::Value;
use ureq::config::Config;
use ureq::http::{Method, Request, Uri};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

use super::Failure;

/// How to reach the controller.
#[derive(clap::Args, Debug, Clone)]
pub struct Connection {
    /// Address of the controller
    #[arg(
        long,
        global = true,
        env = "COEUS_SERVER",
        value_name = "URL",
        default_value = "https://127.0.0.1:8181",
        help_heading = "Connection"
    )]
    pub server: String,
    /// Name of the account
    #[arg(
        long,
        global = true,
        env = "COEUS_USER",
        value_name = "NAME",
        default_value = "admin",
        help_heading = "Connection"
    )]
    pub user: String,
    /// File whose first line is the password; without it COEUS_PASSWORD, or the one that a controller on this machine made
    #[arg(
        long,
        global = true,
        env = "COEUS_PASSWORD_FILE",
        value_name = "FILE",
        help_heading = "Connection"
    )]
    pub password_file: Option<PathBuf>,
    /// File whose first line is a bearer token; without it COEUS_TOKEN
    #[arg(long, global = true, env = "COEUS_TOKEN_FILE", value_name = "FILE", help_heading = "Connection")]
    pub token_file: Option<PathBuf>,
    /// Certificates (PEM) to trust; without it the one that a controller on this machine made
    #[arg(long, global = true, env = "COEUS_CACERT", value_name = "FILE", help_heading = "Connection")]
    pub cacert: Option<PathBuf>,
    /// Do not check the controller's certificate
    #[arg(long, global = true, help_heading = "Connection")]
    pub insecure: bool,
}

/// Where a controller on this machine keeps its things.
const DATA_DIR: &str = "/var/lib/coeus";
/// The longest time for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A controller, as requests go to it.
pub struct Client {
    agent: ureq::Agent,
    server: String,
    authorization: Option<String>,
}

/// What the controller answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub etag: Option<String>,
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as JSON; nothing for an empty one.
    pub fn json(&self, what: &str) -> Result<Value, Failure> {
        if self.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&self.body)
            .map_err(|error| Failure::Failed(format!("{what}: the answer is not JSON: {error}")))
    }
}

impl Connection {
    /// # Errors
    /// When a file cannot be read.
    pub fn open(&self) -> Result<Client, Failure> {
        let mut tls = TlsConfig::builder().disable_verification(self.insecure);
        let made = Path::new(DATA_DIR).join("tls/certificate.pem");
        if let Some(file) = self.cacert.clone().or_else(|| made.exists().then_some(made)) {
            tls = tls.root_certs(RootCerts::new_with_certs(&certificates(&file)?));
        }
        let agent = ureq::Agent::config_builder()
            .tls_config(tls.build())
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(5)))
            .user_agent("coeus")
            // The agent of a node asks several things at a time.
            .max_idle_connections_per_host(8)
            .build();
        let agent = ureq::Agent::with_parts(agent, DefaultConnector::default(), Resolve::default());
        let server = self.server.trim_end_matches('/').to_owned();
        Ok(Client { agent, server, authorization: self.authorization()? })
    }

    fn authorization(&self) -> Result<Option<String>, Failure> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let token = match &self.token_file {
            Some(file) => Some(first_line(file)?),
            None => variable("COEUS_TOKEN"),
        };
        if let Some(token) = token {
            return Ok(Some(format!("Bearer {token}")));
        }
        let password = match &self.password_file {
            Some(file) => Some(first_line(file)?),
            None => variable("COEUS_PASSWORD")
                .or_else(|| variable("COEUS_ADMIN_PASSWORD"))
                .or_else(|| first_line(&Path::new(DATA_DIR).join("admin-password")).ok()),
        };
        let basic = |password: String| {
            let login = format!("{}:{password}", self.user);
            format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(login))
        };
        Ok(password.map(basic))
    }
}

/// Names are looked up for every request, on a thread of its own, because that may take long. An address needs neither.
#[derive(Debug, Default)]
struct Resolve(DefaultResolver);

impl Resolver for Resolve {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        match address(uri) {
            Some(address) => {
                let mut found = self.empty();
                found.push(address);
                Ok(found)
            }
            None => self.0.resolve(uri, config, timeout),
        }
    }
}

/// Where a URI leads that has an address instead of a name.
fn address(uri: &Uri) -> Option<SocketAddr> {
    let host = uri.host()?;
    let address: IpAddr = host.trim_start_matches('[').trim_end_matches(']').parse().ok()?;
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    Some(SocketAddr::new(address, uri.port_u16().unwrap_or(usual)))
}

fn first_line(file: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::Failed(format!("{}: {error}", file.display())))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

fn certificates(file: &Path) -> Result<Vec<Certificate<'static>>, Failure> {
    let wrong = |reason: String| Failure::Failed(format!("{}: {reason}", file.display()));
    let pem = std::fs::read(file).map_err(|error| wrong(error.to_string()))?;
    let mut found = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| wrong(error.to_string()))? {
            found.push(certificate);
        }
    }
    if found.is_empty() { Err(wrong("there is no certificate in it".into())) } else { Ok(found) }
}

impl Client {
    pub fn server(&self) -> &str {
        &self.server
    }

    /// A request below the server's root, such as `/rests/data/pod:coe`. Any status is an answer.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<Answer, Failure> {
        let mut response = self.send(method, path, headers, body, Some(PATIENCE))?;
        let etag = response.headers().get("etag").and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        let body = response
            .body_mut()
            .with_config()
            .limit(u64::MAX)
            .read_to_vec()
            .map_err(|error| self.unreachable(&error))?;
        Ok(Answer { status: response.status().as_u16(), etag, body })
    }

    /// As [`Client::request`], with the body as it comes, for as long as it comes.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn stream(
        &self,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<(u16, impl std::io::Read + use<>), Failure> {
        let response = self.send("GET", path, headers, None, None)?;
        Ok((response.status().as_u16(), response.into_body().into_reader()))
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
        patience: Option<Duration>,
    ) -> Result<ureq::http::Response<ureq::Body>, Failure> {
        let wrong = |reason: String| Failure::Refused(format!("{method} {path}: {reason}"));
        let method = Method::from_bytes(method.as_bytes()).map_err(|error| wrong(error.to_string()))?;
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.server));
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body.unwrap_or_default()).map_err(|error| wrong(error.to_string()))?;
        let request = self
            .agent
            .configure_request(request)
            .allow_non_standard_methods(true)
            .timeout_global(patience)
            .build();
        self.agent.run(request).map_err(|error| self.unreachable(&error))
    }

    /// The data at a path (RFC 8040 section 3.5.3), with query parameters.
    ///
    /// # Errors
    /// Also when there is nothing.
    pub fn data(&self, path: &str, query: &[(&str, String)]) -> Result<Value, Failure> {
        self.data_in("/rests/data", path, query)
    }

    /// The same of one datastore, such as `/rests/ds/ietf-datastores:candidate`.
    ///
    /// # Errors
    /// As [`Client::data`].
    pub fn data_in(&self, root: &str, path: &str, query: &[(&str, String)]) -> Result<Value, Failure> {
        let target = with_query(&resource_in(root, path), query);
        let answer = self.request("GET", &target, &[("Accept", "application/yang-data+json")], None)?;
        let what = format!("GET {path}");
        if answer.status != 200 {
            return Err(Failure::of_answer(&what, answer.status, &answer.body));
        }
        answer.json(&what)
    }

    /// The data at a path, or nothing if there are none.
    ///
    /// # Errors
    /// All but 404.
    pub fn data_if_any(&self, path: &str) -> Result<Value, Failure> {
        match self.data(path, &[]) {
            Err(Failure::NotFound(_)) => Ok(Value::Null),
            other => other,
        }
    }

    /// Calls an RPC with the leafs of its input; the leafs of its output.
    ///
    /// # Errors
    /// When it is refused.
    pub fn call(&self, module: &str, rpc: &str, input: Value) -> Result<Value, Failure> {
        let body = serde_json::json!({ format!("{module}:input"): input }).to_string();
        let headers =
            [("Content-Type", "application/yang-data+json"), ("Accept", "application/yang-data+json")];
        let path = format!("/rests/operations/{module}:{rpc}");
        let answer = self.request("POST", &path, &headers, Some(body.as_bytes()))?;
        if !(200..300).contains(&answer.status) {
            return Err(Failure::of_answer(rpc, answer.status, &answer.body));
        }
        let output = answer.json(rpc)?;
        Ok(output.get(format!("{module}:output")).cloned().unwrap_or(Value::Null))
    }

    fn unreachable(&self, error: &ureq::Error) -> Failure {
        let text = error.to_string();
        let next = if text.to_lowercase().contains("certificate") {
            "; name the controller's certificate with --cacert"
        } else {
            "; is the controller running, and is --server right?"
        };
        Failure::Unreachable(format!("{}: {text}{next}", self.server))
    }
}

/// The URI of a data resource below a root; without a path, of the datastore.
pub fn resource_in(root: &str, path: &str) -> String {
    format!("{root}/{path}").trim_end_matches('/').to_owned()
}

/// A target with query parameters, encoded.
pub fn with_query(path: &str, query: &[(&str, String)]) -> String {
    let encode = |text: &str| {
        percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
    };
    let pairs: Vec<String> = query.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
    if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_not_looked_up() {
        let of = |uri: &str| address(&uri.parse().unwrap()).map(|address| address.to_string());
        assert_eq!(of("https://192.0.2.1:8443/rests").as_deref(), Some("192.0.2.1:8443"));
        assert_eq!(of("https://192.0.2.1/").as_deref(), Some("192.0.2.1:443"));
        assert_eq!(of("http://[fd00::1]").as_deref(), Some("[fd00::1]:80"));
        assert_eq!(of("https://controller:8443/"), None);
    }
}
