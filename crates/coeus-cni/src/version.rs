//! The versions of the specification.

use serde_json::{Value, json};

use crate::error::{Code, Error};

/// A version that we speak. Older ones are less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    V0_3_0,
    V0_3_1,
    V0_4_0,
    V1_0_0,
    V1_1_0,
}

/// All of them, oldest first.
pub const SUPPORTED: [Version; 5] =
    [Version::V0_3_0, Version::V0_3_1, Version::V0_4_0, Version::V1_0_0, Version::V1_1_0];

impl Version {
    pub fn name(self) -> &'static str {
        match self {
            Version::V0_3_0 => "0.3.0",
            Version::V0_3_1 => "0.3.1",
            Version::V0_4_0 => "0.4.0",
            Version::V1_0_0 => "1.0.0",
            Version::V1_1_0 => "1.1.0",
        }
    }

    /// The version of a configuration. One that says nothing speaks 0.2.0.
    ///
    /// # Errors
    /// Code 1 for a version that we do not speak, 7 for what is no version.
    pub fn of(config: &Value) -> Result<Version, Error> {
        let said = match config.get("cniVersion") {
            None => "0.2.0",
            Some(Value::String(said)) => said,
            Some(other) => {
                return Err(Error::new(Code::Config, format!("cniVersion: {other} is no version")));
            }
        };
        SUPPORTED.into_iter().find(|version| version.name() == said).ok_or_else(|| {
            let supported = SUPPORTED.map(Version::name).join(", ");
            Error::new(Code::Version, format!("cniVersion {said} is not supported"))
                .with(format!("supported are {supported}"))
        })
    }

    /// The answer to VERSION, in the version that was asked in.
    pub fn answer(asked: &str) -> Value {
        json!({"cniVersion": asked, "supportedVersions": SUPPORTED.map(Version::name)})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_is_known_by_its_name_and_others_are_refused() {
        for version in SUPPORTED {
            assert_eq!(Version::of(&json!({"cniVersion": version.name()})), Ok(version));
        }
        assert!(SUPPORTED.is_sorted());
        for (config, code, named) in [
            (json!({"cniVersion": "2.0.0"}), Code::Version, "2.0.0"),
            (json!({"cniVersion": "1.0"}), Code::Version, "1.0"),
            (json!({}), Code::Version, "0.2.0"),
            (json!({"cniVersion": 1}), Code::Config, "cniVersion"),
        ] {
            let error = Version::of(&config).unwrap_err();
            assert_eq!(error.code, code, "{config}");
            assert!(error.message.contains(named), "{error}");
        }
    }

    #[test]
    fn version_is_answered_as_asked() {
        let wanted = json!({"cniVersion": "9.9.9", "supportedVersions": ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"]});
        assert_eq!(Version::answer("9.9.9"), wanted);
    }
}
