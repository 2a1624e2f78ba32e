//! Every type: what is accepted, in which form it is kept and written, what is refused.

use super::super::BodyErrorKind;
use super::super::json::{self, Mode};
use super::super::testing::sample;
use super::super::{DataPath, lexical};

const UID: &str = "11111111-2222-3333-4444-555555555555";

/// Puts one member beside the key of a pod; gives that member back as written, or the first message.
fn pod_member(mode: Mode, member: &str, value: &str) -> Result<String, String> {
    let schema = sample();
    let body = format!(r#"{{"test:pods":[{{"uid":"{UID}","{member}":{value}}}]}}"#);
    let path = DataPath::parse_rfc8040(schema, &format!("test:coe/pods={UID}")).unwrap();
    let node = json::parse_resource(schema, &path, body.as_bytes(), mode).map_err(|errors| {
        let error = &errors.0[0];
        let of_syntax = error.kind == BodyErrorKind::MalformedMessage;
        assert!(of_syntax || error.path.contains(&format!("pods[uid='{UID}']")), "{errors}");
        errors.0[0].message.clone()
    })?;
    let mut out = Vec::new();
    json::write_resource(schema, &path, &node, &mut out);
    let text = String::from_utf8(out).unwrap();
    let inner = text.strip_prefix(&format!(r#"{{"test:pods":[{{"uid":"{UID}""#)).unwrap();
    let inner = inner.strip_suffix("}]}").unwrap();
    Ok(inner.split_once("\":").map_or("", |(_, value)| value).to_owned())
}

#[test]
fn strict_values_are_kept_in_canonical_form() {
    let cases = [
        ("name", r#""""#, r#""""#),
        ("name", r#""tab\t \"quote\" \\ é \ud83d\ude00""#, "\"tab\\t \\\"quote\\\" \\\\ é 😀\""),
        ("host-ip-address", r#""10.0.0.1""#, r#""10.0.0.1""#),
        ("port-mac-address", r#""AA:bb:CC:00:11:22""#, r#""aa:bb:cc:00:11:22""#),
        ("network-type", r#""VXLAN""#, r#""VXLAN""#),
        ("segmentation-id", "4294967295", "4294967295"),
        ("segmentation-id", "0", "0"),
        ("dpn-id", r#""18446744073709551615""#, r#""18446744073709551615""#),
        ("dpn-id", r#""007""#, r#""7""#),
        ("small", "-100", "-100"),
        ("small", "5", "5"),
        ("large", r#""-9223372036854775808""#, r#""-9223372036854775808""#),
        ("ratio", r#""3.1""#, r#""3.1""#),
        ("ratio", r#""-0.05""#, r#""-0.05""#),
        ("ratio", r#""+007.500""#, r#""7.5""#),
        ("ratio", r#""12""#, r#""12.0""#),
        ("flags", r#""last up""#, r#""up last""#),
        ("flags", r#""""#, r#""""#),
        ("enabled", "false", "false"),
        ("nothing", "[null]", "[null]"),
        ("blob", r#""AAEC""#, r#""AAEC""#),
        ("kind", r#""tcp""#, r#""tcp""#),
        ("kind", r#""test:tcp""#, r#""tcp""#),
        ("kind", r#""aug:udp-lite""#, r#""aug:udp-lite""#),
        ("prefix", r#""1.1.1.1/16""#, r#""1.1.0.0/16""#),
        ("prefix", r#""1.1.1.1/0""#, r#""0.0.0.0/0""#),
        ("prefix6", r#""2001:DB8:0:0:1::1/64""#, r#""2001:db8::/64""#),
        ("prefix6", r#""::1/0""#, r#""::/0""#),
        ("either", r#""10.0.0.1""#, r#""10.0.0.1""#),
        ("either", r#""2001:DB8:0:0:0:0:0:1""#, r#""2001:db8::1""#),
        ("either", "255", "255"),
        ("either", "true", "true"),
        ("short", r#""äöü""#, r#""äöü""#),
        ("short", r#""12345""#, r#""12345""#),
        ("tags", r#"["b","a"]"#, r#"["a","b"]"#),
        ("order", "[3,1,2]", "[3,1,2]"),
        ("target", r#""/test:nodes/node[name='x']/address""#, r#""/test:nodes/node[name='x']/address""#),
    ];
    for (member, value, written) in cases {
        assert_eq!(pod_member(Mode::Strict, member, value).as_deref(), Ok(written), "{member} {value}");
        assert_eq!(
            pod_member(Mode::Lenient, member, value).as_deref(),
            Ok(written),
            "lenient {member} {value}"
        );
    }
}

#[test]
fn values_out_of_type_are_refused_in_both_modes() {
    let cases = [
        ("uid2", r#""x""#),
        ("name", "5"),
        ("name", "true"),
        ("name", "{}"),
        ("name", r#"["x"]"#),
        ("name", r#""nul \u0000""#),
        ("name", r#""bell \u0007""#),
        ("name", "\"noncharacter \u{ffff}\""),
        ("host-ip-address", r#""10.0.0.256""#),
        ("host-ip-address", r#""10.0.0.01""#),
        ("host-ip-address", r#""10.0.0.1\n""#),
        ("port-mac-address", r#""aa:bb:cc""#),
        ("network-type", r#""flat""#),
        ("network-type", "7"),
        ("segmentation-id", "4294967296"),
        ("segmentation-id", "-1"),
        ("segmentation-id", "1.5"),
        ("segmentation-id", "1e400"),
        ("segmentation-id", "123456789012345678901234567890"),
        ("dpn-id", r#""18446744073709551616""#),
        ("dpn-id", r#"" 1""#),
        ("small", "0"),
        ("small", "101"),
        ("ratio", r#""3.141""#),
        ("ratio", r#""1001""#),
        ("ratio", r#""1.""#),
        ("ratio", r#"".5""#),
        ("ratio", r#""1e2""#),
        ("ratio", r#""""#),
        ("flags", r#""up up""#),
        ("flags", r#""down""#),
        ("enabled", r#""yes""#),
        ("nothing", "5"),
        ("nothing", "[null,null]"),
        ("nothing", "[]"),
        ("nothing", "[5]"),
        ("blob", r#""AAE""#),
        ("blob", r#""AAECAwQFBgcICQ==""#),
        ("kind", r#""transport""#),
        ("kind", r#""aug:tcp""#),
        ("prefix", r#""1.1.1.1/33""#),
        ("prefix", r#""1.1.1/8""#),
        ("prefix6", r#""::1/129""#),
        ("either", "256"),
        ("either", r#""::zz""#),
        ("short", r#""1234""#),
        ("short", r#""123456""#),
        ("tags", r#""a""#),
        ("tags", r#"["a","a"]"#),
        ("tags", r#"[["a"]]"#),
        ("order", r#"["x"]"#),
        ("target", r#""nodes""#),
        ("target", r#""/test:nodes/nod""#),
        ("interface", "{}"),
        ("interface", r#"["x"]"#),
        ("status", "[]"),
        ("v4", r#""a","v6":"b""#),
        ("name", r#""a","name":"b""#),
        ("name", r#""a","test:name":"b""#),
    ];
    for (member, value) in cases {
        for mode in [Mode::Strict, Mode::Lenient] {
            let message = pod_member(mode, member, value).expect_err(&format!("{member} {value}"));
            assert!(!message.is_empty());
        }
    }
}

#[test]
fn lenient_mode_forgives_what_old_clients_send_and_strict_does_not() {
    let cases = [
        ("segmentation-id", r#""0""#, "0"),
        ("dpn-id", "5", r#""5""#),
        ("large", "-5", r#""-5""#),
        ("ratio", "3.25", r#""3.25""#),
        ("enabled", r#""true""#, "true"),
        ("either", r#""255""#, "255"),
        ("kind", r#""a:udp""#, r#""aug:udp""#),
        ("kind", r#""udp""#, r#""aug:udp""#),
        ("extra", r#""x""#, r#""x""#),
        ("a:extra", r#""x""#, r#""x""#),
        ("host-ip-address", r#""""#, ""),
        ("port-mac-address", r#""""#, ""),
        ("host-ip-address", "null", ""),
        ("name", "null", ""),
        ("interface", "null", ""),
        ("tags", "null", ""),
    ];
    for (member, value, written) in cases {
        assert_eq!(pod_member(Mode::Lenient, member, value).as_deref(), Ok(written), "{member} {value}");
        assert!(pod_member(Mode::Strict, member, value).is_err(), "strict {member} {value}");
    }
}

#[test]
fn messages_say_what_would_be_right() {
    let message = |member, value| pod_member(Mode::Strict, member, value).unwrap_err();
    assert!(message("nmae", r#""x""#).contains("did you mean name?"));
    assert!(message("extra", r#""x""#).contains("did you mean aug:extra?"));
    assert!(message("tset:name", r#""x""#).contains("did you mean test?"));
    assert!(message("network-type", r#""flat""#).contains("FLAT, VXLAN"));
    assert!(message("segmentation-id", r#""1""#).contains("JSON number"));
    assert!(message("small", "0").contains("-100..-1 | 5..100"));
}

#[test]
fn text_in_urls_needs_no_quotes_to_be_a_number() {
    let schema = sample();
    let leaf = |name: &str| schema.resolve(&format!("/test:coe/pods/{name}"));
    let round = |name: &str, text: &str| {
        let value = lexical::parse_value(schema, leaf(name), text)?;
        Ok::<_, String>(lexical::value_text(schema, leaf(name), &value))
    };
    assert_eq!(round("segmentation-id", "+07"), Ok("7".into()));
    assert_eq!(round("enabled", "true"), Ok("true".into()));
    assert_eq!(round("nothing", ""), Ok("".into()));
    assert_eq!(round("kind", "aug:udp"), Ok("aug:udp".into()));
    assert_eq!(round("flags", "running up"), Ok("up running".into()));
    assert_eq!(round("ratio", "1.10"), Ok("1.1".into()));
    assert!(round("segmentation-id", "x").is_err());
}
