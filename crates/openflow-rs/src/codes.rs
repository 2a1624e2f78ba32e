//! Names of OpenFlow errors (OpenFlow 1.3.5, section 7.5.4; Open vSwitch's `ofp-errors.h` for its extensions).

const TYPES: &[(u16, &str, &[&str])] = &[
    (0, "OFPET_HELLO_FAILED", &["OFPHFC_INCOMPATIBLE", "OFPHFC_EPERM"]),
    (
        1,
        "OFPET_BAD_REQUEST",
        &[
            "OFPBRC_BAD_VERSION",
            "OFPBRC_BAD_TYPE",
            "OFPBRC_BAD_MULTIPART",
            "OFPBRC_BAD_EXPERIMENTER",
            "OFPBRC_BAD_EXP_TYPE",
            "OFPBRC_EPERM",
            "OFPBRC_BAD_LEN",
            "OFPBRC_BUFFER_EMPTY",
            "OFPBRC_BUFFER_UNKNOWN",
            "OFPBRC_BAD_TABLE_ID",
            "OFPBRC_IS_SLAVE",
            "OFPBRC_BAD_PORT",
            "OFPBRC_BAD_PACKET",
            "OFPBRC_MULTIPART_BUFFER_OVERFLOW",
        ],
    ),
    (
        2,
        "OFPET_BAD_ACTION",
        &[
            "OFPBAC_BAD_TYPE",
            "OFPBAC_BAD_LEN",
            "OFPBAC_BAD_EXPERIMENTER",
            "OFPBAC_BAD_EXP_TYPE",
            "OFPBAC_BAD_OUT_PORT",
            "OFPBAC_BAD_ARGUMENT",
            "OFPBAC_EPERM",
            "OFPBAC_TOO_MANY",
            "OFPBAC_BAD_QUEUE",
            "OFPBAC_BAD_OUT_GROUP",
            "OFPBAC_MATCH_INCONSISTENT",
            "OFPBAC_UNSUPPORTED_ORDER",
            "OFPBAC_BAD_TAG",
            "OFPBAC_BAD_SET_TYPE",
            "OFPBAC_BAD_SET_LEN",
            "OFPBAC_BAD_SET_ARGUMENT",
        ],
    ),
    (
        3,
        "OFPET_BAD_INSTRUCTION",
        &[
            "OFPBIC_UNKNOWN_INST",
            "OFPBIC_UNSUP_INST",
            "OFPBIC_BAD_TABLE_ID",
            "OFPBIC_UNSUP_METADATA",
            "OFPBIC_UNSUP_METADATA_MASK",
            "OFPBIC_BAD_EXPERIMENTER",
            "OFPBIC_BAD_EXP_TYPE",
            "OFPBIC_BAD_LEN",
            "OFPBIC_EPERM",
            "OFPBIC_DUP_INST",
        ],
    ),
    (
        4,
        "OFPET_BAD_MATCH",
        &[
            "OFPBMC_BAD_TYPE",
            "OFPBMC_BAD_LEN",
            "OFPBMC_BAD_TAG",
            "OFPBMC_BAD_DL_ADDR_MASK",
            "OFPBMC_BAD_NW_ADDR_MASK",
            "OFPBMC_BAD_WILDCARDS",
            "OFPBMC_BAD_FIELD",
            "OFPBMC_BAD_VALUE",
            "OFPBMC_BAD_MASK",
            "OFPBMC_BAD_PREREQ",
            "OFPBMC_DUP_FIELD",
            "OFPBMC_EPERM",
        ],
    ),
    (
        5,
        "OFPET_FLOW_MOD_FAILED",
        &[
            "OFPFMFC_UNKNOWN",
            "OFPFMFC_TABLE_FULL",
            "OFPFMFC_BAD_TABLE_ID",
            "OFPFMFC_OVERLAP",
            "OFPFMFC_EPERM",
            "OFPFMFC_BAD_TIMEOUT",
            "OFPFMFC_BAD_COMMAND",
            "OFPFMFC_BAD_FLAGS",
        ],
    ),
    (
        6,
        "OFPET_GROUP_MOD_FAILED",
        &[
            "OFPGMFC_GROUP_EXISTS",
            "OFPGMFC_INVALID_GROUP",
            "OFPGMFC_WEIGHT_UNSUPPORTED",
            "OFPGMFC_OUT_OF_GROUPS",
            "OFPGMFC_OUT_OF_BUCKETS",
            "OFPGMFC_CHAINING_UNSUPPORTED",
            "OFPGMFC_WATCH_UNSUPPORTED",
            "OFPGMFC_LOOP",
            "OFPGMFC_UNKNOWN_GROUP",
            "OFPGMFC_CHAINED_GROUP",
            "OFPGMFC_BAD_TYPE",
            "OFPGMFC_BAD_COMMAND",
            "OFPGMFC_BAD_BUCKET",
            "OFPGMFC_BAD_WATCH",
            "OFPGMFC_EPERM",
        ],
    ),
    (11, "OFPET_ROLE_REQUEST_FAILED", &["OFPRRFC_STALE", "OFPRRFC_UNSUP", "OFPRRFC_BAD_ROLE"]),
    (
        12,
        "OFPET_METER_MOD_FAILED",
        &[
            "OFPMMFC_UNKNOWN",
            "OFPMMFC_METER_EXISTS",
            "OFPMMFC_INVALID_METER",
            "OFPMMFC_UNKNOWN_METER",
            "OFPMMFC_BAD_COMMAND",
            "OFPMMFC_BAD_FLAGS",
            "OFPMMFC_BAD_RATE",
            "OFPMMFC_BAD_BURST",
            "OFPMMFC_BAD_BAND",
            "OFPMMFC_BAD_BAND_DETAIL",
            "OFPMMFC_OUT_OF_METERS",
            "OFPMMFC_OUT_OF_BANDS",
        ],
    ),
];

/// Experimenter errors of the ONF bundle extension carry their code in the first four bytes of the data.
const BUNDLE_FAILED: (u16, &[&str]) = (
    2300,
    &[
        "OFPBFC_UNKNOWN",
        "OFPBFC_EPERM",
        "OFPBFC_BAD_ID",
        "OFPBFC_BUNDLE_EXIST",
        "OFPBFC_BUNDLE_CLOSED",
        "OFPBFC_OUT_OF_BUNDLES",
        "OFPBFC_BAD_TYPE",
        "OFPBFC_BAD_FLAGS",
        "OFPBFC_MSG_BAD_LEN",
        "OFPBFC_MSG_BAD_XID",
        "OFPBFC_MSG_UNSUP",
        "OFPBFC_MSG_CONFLICT",
        "OFPBFC_MSG_TOO_MANY",
        "OFPBFC_MSG_FAILED",
        "OFPBFC_TIMEOUT",
        "OFPBFC_BUNDLE_IN_PROGRESS",
    ],
);

/// The name under which the manuals list an error, or its numbers.
pub fn error_name(kind: u16, code: u16) -> String {
    if kind == 0xffff {
        let bundle = code.checked_sub(BUNDLE_FAILED.0).and_then(|at| BUNDLE_FAILED.1.get(usize::from(at)));
        return bundle.map_or_else(|| format!("experimenter error {code}"), ToString::to_string);
    }
    match TYPES.iter().find(|(number, ..)| *number == kind) {
        Some((_, name, codes)) => match codes.get(usize::from(code)) {
            Some(code) => (*code).to_string(),
            None => format!("{name} code {code}"),
        },
        None => format!("error type {kind} code {code}"),
    }
}
