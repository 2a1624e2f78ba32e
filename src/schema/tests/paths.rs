//! Both styles of URL, with awkward keys.

use super::super::testing::sample;
use super::super::{DataPath, PathError, PathErrorKind};

const UID: &str = "11111111-2222-3333-4444-555555555555";

fn rfc(text: &str) -> Result<String, PathError> {
    DataPath::parse_rfc8040(sample(), text).map(|path| path.display(sample()))
}

fn legacy(text: &str) -> Result<String, PathError> {
    DataPath::parse_legacy(sample(), text).map(|path| path.display(sample()))
}

#[test]
fn rfc8040_paths_are_understood() {
    let cases = [
        ("", "/"),
        ("test:coe", "/test:coe"),
        ("/test:coe", "/test:coe"),
        ("test%3Acoe", "/test:coe"),
        ("test:coe/pods", "/test:coe/pods"),
        ("test:nodes/node=a", "/test:nodes/node[name='a']"),
        ("test:nodes/node=", "/test:nodes/node[name='']"),
        ("test:nodes/test:node=a/address", "/test:nodes/node[name='a']/address"),
        ("test:nodes/node=a%2Cb", "/test:nodes/node[name='a,b']"),
        ("test:nodes/node=192.168.10.0%2F24", "/test:nodes/node[name='192.168.10.0/24']"),
        ("test:nodes/node=ovsdb:1", "/test:nodes/node[name='ovsdb:1']"),
        ("test:nodes/node=100%25", "/test:nodes/node[name='100%']"),
        ("test:nodes/node=%C3%A9", "/test:nodes/node[name='é']"),
        ("test:nodes/node=é", "/test:nodes/node[name='é']"),
        ("test:nodes/node=a=b", "/test:nodes/node[name='a=b']"),
        ("test:nodes/node=it's", "/test:nodes/node[name=\"it's\"]"),
        ("test:pairs/pair=a,7/value", "/test:pairs/pair[first='a'][second='7']/value"),
        ("test:pairs/pair=,7", "/test:pairs/pair[first=''][second='7']"),
        ("test:rule=3/protocol", "/test:rule[index='3']/protocol"),
    ];
    for (text, shown) in cases {
        assert_eq!(rfc(text).as_deref(), Ok(shown), "{text}");
    }
    let upper = format!("test:coe/pods={}/tags=x%2Fy", UID.to_uppercase().replace('1', "A"));
    let lower = UID.replace('1', "a");
    assert_eq!(rfc(&upper).unwrap(), format!("/test:coe/pods[uid='{lower}']/tags[.='x/y']"));
    assert_eq!(rfc(&format!("test:coe/pods={UID}/aug:extra")).unwrap().rsplit('/').next(), Some("aug:extra"));
}

#[test]
fn legacy_paths_are_understood() {
    let cases = [
        ("", "/"),
        ("/", "/"),
        ("test:coe/", "/test:coe"),
        ("coe", "/test:coe"),
        ("t:coe", "/test:coe"),
        ("test:nodes/node", "/test:nodes/node"),
        ("test:nodes/node/", "/test:nodes/node"),
        ("test:nodes/node/a/address/", "/test:nodes/node[name='a']/address"),
        ("test:nodes/node/a%2Fb", "/test:nodes/node[name='a/b']"),
        ("test:nodes/node/a,b", "/test:nodes/node[name='a,b']"),
        ("test:nodes/node//address", "/test:nodes/node[name='']/address"),
        ("test:nodes/node=a/address", "/test:nodes/node[name='a']/address"),
        ("test:nodes/node/node", "/test:nodes/node[name='node']"),
        ("test:pairs/pair/a/7/value", "/test:pairs/pair[first='a'][second='7']/value"),
    ];
    for (text, shown) in cases {
        assert_eq!(legacy(text).as_deref(), Ok(shown), "{text}");
    }
    let path = legacy(&format!("test:coe/pods/{}/extra", UID.to_uppercase())).unwrap();
    assert_eq!(path, format!("/test:coe/pods[uid='{UID}']/aug:extra"));
}

#[test]
fn wrong_paths_are_refused_with_their_reason() {
    use PathErrorKind::*;
    let cases = [
        ("coe", UnknownElement, "test:coe"),
        ("test:coo", UnknownElement, "did you mean test:coe?"),
        ("tset:coe", UnknownNamespace, "did you mean test?"),
        ("test:reset", UnknownElement, "no top-level node"),
        ("test:coe/", Malformed, "empty segment"),
        ("test:coe//pods", Malformed, "empty segment"),
        ("test:coe=a", Keys, "takes no key"),
        ("test:coe/pods=x", InvalidValue, "pattern"),
        ("test:nodes/node/address", Keys, "(name)"),
        ("test:nodes/node=a,b", Keys, "1 key value(s) (name), 2 given"),
        ("test:pairs/pair=a", Keys, "(first, second), 1 given"),
        ("test:pairs/pair=a,1,2", Keys, "3 given"),
        ("test:pairs/pair=a,x", InvalidValue, "second"),
        ("test:pairs/pair=a,65536", InvalidValue, "0..65535"),
        ("test:nodes/node=a%", Malformed, "%25"),
        ("test:nodes/node=a%zz", Malformed, "%25"),
        ("test:nodes/node=%ff", Malformed, "UTF-8"),
        ("test:nodes/node=%00", InvalidValue, "U+0000"),
        ("test:nodes/node=a/address/deeper", UnknownElement, "a leaf"),
        ("test:state/sample=1", Keys, "no keys"),
        ("test:coe/extra", UnknownElement, ""),
    ];
    for (text, kind, word) in cases {
        let error = rfc(text).expect_err(text);
        assert_eq!(error.kind, kind, "{text}: {error}");
        assert!(error.message.contains(word), "{text}: {error}");
    }
    let cases = [
        ("test:nodes/node/a/b", UnknownElement),
        ("test:pairs/pair/a", Keys),
        ("test:pairs/pair/a/", Keys),
        ("test:coe/pods/x", InvalidValue),
        ("test:nodes/node/%", Malformed),
        ("test:coe//", Malformed),
    ];
    for (text, kind) in cases {
        assert_eq!(legacy(text).expect_err(text).kind, kind, "{text}");
    }
}

#[test]
fn paths_are_written_as_urls_with_all_reserved_characters_encoded() {
    let path = DataPath::parse_legacy(sample(), "test:pairs/pair/a%2Fb,c é:/7/value").unwrap();
    assert_eq!(path.to_rfc8040(sample()), "test:pairs/pair=a%2Fb%2Cc%20%C3%A9%3A,7/value");
}

#[test]
fn instance_identifiers_are_read_in_any_order_of_keys() {
    let schema = sample();
    let read = |text| DataPath::parse_instance_identifier(schema, text).map(|path| path.display(schema));
    let shown = "/test:pairs/pair[first='a'][second='7']/value";
    assert_eq!(read(r#"/test:pairs/pair[second="7"][ first = 'a' ]/value"#).as_deref(), Ok(shown));
    for wrong in
        ["", "test:coe", "/test:pairs/pair[first='a']", "/test:pairs/pair[first='a'", "/test:coe]", "/"]
    {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}
