//! RPCs, actions and notifications, from a module compiled as the built-in ones are.

use std::sync::{Arc, LazyLock};

use super::super::BodyErrors;
use super::super::json::{self, Mode};
use super::super::load::load_from;
use super::super::{
    DataPath, Fields, Kind, Node, PathErrorKind, Schema, ValidationErrorKind, diff, validate, validate_input,
    validate_notification, validate_output,
};

static OPS: LazyLock<&'static Schema> =
    LazyLock::new(|| load_from(&[("ops", include_str!("../testing/ops.yang"))]).unwrap());

fn move_rpc() -> DataPath {
    DataPath::parse_rpc(*OPS, "ops:move").unwrap()
}

fn reset() -> DataPath {
    DataPath::parse_action(*OPS, "ops:servers/server=a/reset").unwrap()
}

fn store() -> Fields {
    let text = br#"{"ops:servers":{"server":[{"name":"a","weight":20},{"name":"b","weight":1}]}}"#;
    json::parse(*OPS, None, text, Mode::Strict).unwrap()
}

fn input(operation: &DataPath, body: &str) -> Result<Fields, BodyErrors> {
    json::parse_input(*OPS, operation, body.as_bytes(), Mode::Strict)
}

/// Kinds and paths of what is wrong with an input.
fn faults(operation: &DataPath, body: &str) -> Vec<(ValidationErrorKind, String)> {
    let input = input(operation, body).unwrap_or_else(|errors| panic!("{errors}"));
    let errors = validate_input(*OPS, &store(), operation, &input).err().unwrap_or_default();
    errors.into_iter().map(|error| (error.kind, error.path)).collect()
}

#[test]
fn operations_are_found_and_stand_apart_from_the_data() {
    let schema = *OPS;
    let moving = schema.rpc("ops", "move").unwrap();
    assert_eq!(schema.rpcs, [moving, schema.rpc("ops", "ping").unwrap()]);
    assert_eq!(schema.node(moving).description.as_deref(), Some("Moves a server."));
    let server = schema.resolve("/ops:servers/server");
    let reset = schema.resolve("/ops:servers/server/reset");
    assert_eq!(schema.actions_of(server).collect::<Vec<_>>(), [reset]);
    let failed = schema.notification("ops", "failed").unwrap();
    assert_eq!(schema.notifications_of(Some(server)).collect::<Vec<_>>(), [failed]);
    assert_eq!(schema.notifications_of(None).count(), 1);
    for (part, name) in [(schema.input(moving), "input"), (schema.output(moving), "output")] {
        assert_eq!(&*schema.node(part.unwrap()).name, name);
    }
    assert!(schema.input(schema.rpcs[1]).is_some() && schema.input(server).is_none());
    assert_eq!(schema.operation_of(schema.resolve("/ops:move/input/from")), Some(moving));
    assert_eq!(schema.operation_of(server), None);
    assert!(!schema.node(schema.resolve("/ops:move/input/from")).config);
    assert!(matches!(schema.node(failed).kind, Kind::Notification));

    assert_eq!(schema.roots, [schema.resolve("/ops:servers")]);
    for path in ["ops:move", "ops:moved", "ops:servers/server=a/reset", "ops:servers/server=a/failed"] {
        assert!(DataPath::parse_rfc8040(schema, path).is_err(), "{path}");
        assert!(DataPath::parse_legacy(schema, path).is_err(), "{path}");
    }
    for body in [r#"{"ops:move":{}}"#, r#"{"ops:servers":{"server":[{"name":"a","reset":{}}]}}"#] {
        assert!(json::parse(schema, None, body.as_bytes(), Mode::Lenient).is_err(), "{body}");
    }
}

#[test]
fn urls_of_operations_are_read() {
    let schema = *OPS;
    assert_eq!(move_rpc().steps.len(), 1);
    assert_eq!(reset().display(schema), "/ops:servers/server[name='a']/reset");
    let qualified = DataPath::parse_action(schema, "ops:servers/server=a/ops:reset");
    assert_eq!(qualified, Ok(reset()));
    use PathErrorKind::*;
    let wrong = |found: Result<DataPath, super::super::PathError>| found.unwrap_err().kind;
    assert_eq!(wrong(DataPath::parse_rpc(schema, "move")), UnknownElement);
    assert_eq!(wrong(DataPath::parse_rpc(schema, "ops:servers")), UnknownElement);
    assert_eq!(wrong(DataPath::parse_rpc(schema, "no:move")), UnknownNamespace);
    assert_eq!(wrong(DataPath::parse_rpc(schema, "ops:mo%ve")), Malformed);
    assert_eq!(wrong(DataPath::parse_action(schema, "ops:servers/server/reset")), UnknownElement);
    assert_eq!(wrong(DataPath::parse_action(schema, "ops:servers/server=a/weight")), UnknownElement);
    assert_eq!(wrong(DataPath::parse_action(schema, "reset")), UnknownElement);
}

#[test]
fn inputs_are_read_and_outputs_written() {
    let body = r#"{"ops:input":{"from":"a","to":"c","fast":[null],"tag":["x","x"],"step":[{"number":1}],"free":[{"word":"y"},{"word":"y"}]}}"#;
    let read = input(&move_rpc(), body).unwrap();
    let mut again = Vec::new();
    json::write_input(*OPS, OPS.rpcs[0], &read, &mut again);
    assert_eq!(String::from_utf8(again).unwrap(), body);
    for lenient in [r#"{"input":{"from":"a"}}"#, r#"{"ops:input":{"ops:from":"a"}}"#] {
        assert!(json::parse_input(*OPS, &move_rpc(), lenient.as_bytes(), Mode::Lenient).is_ok(), "{lenient}");
    }
    for wrong in [
        r#"{"input":{}}"#,
        r#"{"ops:output":{}}"#,
        r#"{"ops:input":{},"ops:x":1}"#,
        r#"{"ops:input":[]}"#,
        "[]",
        "null",
        "{",
    ] {
        assert!(input(&move_rpc(), wrong).is_err(), "{wrong}");
    }
    assert!(input(&move_rpc(), "").unwrap().is_empty());
    let error = &input(&reset(), r#"{"ops:input":{"at":1}}"#).unwrap_err().0[0];
    assert_eq!(error.path, "/ops:servers/server[name='a']/reset/input/at");

    let output = json::parse_output(*OPS, &reset(), br#"{"ops:output":{"finished":"now"}}"#, Mode::Strict);
    let mut text = Vec::new();
    json::write_output(*OPS, reset().last_node().unwrap(), &output.unwrap(), &mut text);
    assert_eq!(text, br#"{"ops:output":{"finished":"now"}}"#);
}

#[test]
fn inputs_are_validated_in_sight_of_the_datastore() {
    use ValidationErrorKind::*;
    let whole = r#"{"ops:input":{"from":"a","to":"c","heavy":true,"slow":1}}"#;
    assert_eq!(faults(&move_rpc(), whole), []);
    let missing = |leaf: &str| (MandatoryInOperation, format!("/ops:move/input/{leaf}"));
    let empty = faults(&move_rpc(), r#"{"ops:input":{"fast":[null]}}"#);
    assert!(empty.contains(&missing("from")) && empty.contains(&missing("to")), "{empty:?}");
    assert_eq!(
        faults(&move_rpc(), r#"{"ops:input":{"from":"a","to":"a","fast":[null]}}"#),
        [(Must, "/ops:move/input".into())]
    );
    assert_eq!(
        faults(&move_rpc(), r#"{"ops:input":{"from":"x","to":"a","fast":[null]}}"#),
        [(LeafrefDangling, "/ops:move/input/from".into())]
    );
    assert_eq!(
        faults(&move_rpc(), r#"{"ops:input":{"from":"b","to":"a","heavy":true,"fast":[null]}}"#),
        [(When, "/ops:move/input/heavy".into())]
    );
    assert_eq!(
        faults(&reset(), "{}"),
        [(MandatoryInOperation, "/ops:servers/server[name='a']/reset/input/at".into())]
    );
    assert_eq!(faults(&DataPath::parse_rpc(*OPS, "ops:ping").unwrap(), ""), []);
}

#[test]
fn outputs_and_notifications_are_validated() {
    let none = Arc::default();
    assert!(validate_output(*OPS, &store(), &reset(), &none).is_err());
    let schema = *OPS;
    let moved = schema.notification("ops", "moved").unwrap();
    let path = DataPath::root().child(moved);
    assert!(validate_notification(schema, &store(), &path, &none).is_err());
    let text = br#"{"ops:moved":{"name":"a"}}"#;
    let name = schema.resolve("/ops:moved/name");
    let content = Fields::of(vec![(name, Node::Leaf(super::super::Value::text("a")))]);
    assert_eq!(validate_notification(schema, &store(), &path, &Arc::new(content.clone())), Ok(()));
    let mut written = Vec::new();
    json::write(schema, None, &Fields::of(vec![(moved, Node::from(content))]), &mut written);
    assert_eq!(written, text);
}

#[test]
fn changes_of_data_are_not_held_up_by_operations() {
    let (before, after) = (store(), Arc::default());
    assert_eq!(validate(*OPS, true, &after, &diff(*OPS, &before, &after)), Ok(()));
}
