//! Both encodings: RFC 8040 sections 3.2 and 5.2.

use serde_json::json;

use crate::support::{Answer, Server};

const LAB: &str = "/rests/data/lab:lab";
const XML: &str = "application/yang-data+xml";

fn accepting(server: &Server, kind: &str, method: &str, at: &str) -> Answer {
    server.with(&format!("Accept: {kind}\r\n"), method, at, "")
}

fn sending(server: &Server, method: &str, at: &str, body: &str) -> Answer {
    server.with(&format!("Content-Type: {XML}\r\nAccept: {XML}\r\n"), method, at, body)
}

#[test]
fn rfc8040_5_2_data_go_in_and_out_as_xml() {
    let server = Server::lab();
    let item = r#"<item xmlns="urn:coeus:test:lab"><name>a</name><value>3</value></item>"#;
    assert_eq!(sending(&server, "PUT", &format!("{LAB}/item=a"), item).status, 201);
    assert_eq!(sending(&server, "POST", LAB, &item.replace(">a<", ">b<")).status, 201);
    let merged = r#"<lab xmlns="urn:coeus:test:lab"><title>t</title></lab>"#;
    assert_eq!(sending(&server, "PATCH", LAB, merged).status, 204);
    let got = server.send("GET", LAB, "").json();
    assert_eq!(
        got,
        json!({"lab:lab": {"title": "t", "item": [{"name": "a", "value": 3}, {"name": "b", "value": 3}]}})
    );
    let got = accepting(&server, XML, "GET", &format!("{LAB}/item=a"));
    assert_eq!((got.status, got.header("content-type"), got.body.as_str()), (200, Some(XML), item));
    assert_eq!(
        accepting(&server, XML, "GET", &format!("{LAB}/item")).status,
        400,
        "two elements are no document"
    );
    let whole = accepting(&server, XML, "GET", "/rests/data");
    assert!(
        whole.body.starts_with(r#"<data xmlns="urn:ietf:params:xml:ns:yang:ietf-restconf">"#),
        "{}",
        whole.body
    );
    let tagged = accepting(&server, XML, "GET", &format!("{LAB}/speed?with-defaults=report-all-tagged"));
    assert!(tagged.body.contains("wd:default=\"true\""), "{}", tagged.body);
}

#[test]
fn rfc8040_5_2_the_answer_is_in_what_accept_likes_best() {
    let server = Server::lab();
    server.send("PUT", LAB, r#"{"lab:lab":{"title":"t"}}"#);
    for (accept, wanted) in [
        ("*/*", "application/yang-data+json"),
        ("application/yang-data+json;q=0.5, application/yang-data+xml;q=0.6", XML),
        ("text/html, application/xml;q=0.1", "application/xml"),
        ("application/json", "application/json"),
    ] {
        assert_eq!(accepting(&server, accept, "GET", LAB).header("content-type"), Some(wanted), "{accept}");
    }
    assert_eq!(accepting(&server, "text/html", "GET", LAB).status, 406);
    assert_eq!(accepting(&server, "application/yang-data+json;q=0", "GET", LAB).status, 406);
    let json = server.send("GET", LAB, "").header("etag").unwrap().to_owned();
    let xml = accepting(&server, XML, "GET", LAB).header("etag").unwrap().to_owned();
    assert_ne!(json, xml, "RFC 9110 8.8.3: each encoding has its own strong tag");
    let same = format!("Accept: {XML}\r\nIf-None-Match: {xml}\r\n");
    assert_eq!(server.with(&same, "GET", LAB, "").status, 304);
    assert_eq!(
        server.with(&format!("If-Match: {xml}\r\n"), "DELETE", LAB, "").status,
        204,
        "it names the same state"
    );
}

#[test]
fn rfc8040_5_2_bodies_of_other_types_are_415() {
    let server = Server::lab();
    for kind in ["text/plain", "application/octet-stream", "nonsense", "application/yaml"] {
        let answer =
            server.with(&format!("Content-Type: {kind}\r\n"), "PUT", LAB, r#"{"lab:lab":{"title":"t"}}"#);
        assert_eq!((answer.status, answer.header("accept-patch").is_some()), (415, true), "{kind}");
    }
    let kind = "Content-Type: Application/YANG-Data+JSON; charset=utf-8\r\n";
    assert_eq!(server.with(kind, "PUT", LAB, r#"{"lab:lab":{"title":"t"}}"#).status, 201);
}

#[test]
fn rfc8040_7_1_errors_come_in_the_encoding_that_was_asked_for() {
    let server = Server::lab();
    let wrong = r#"<item xmlns="urn:coeus:test:lab"><name>a</name><value>x</value></item>"#;
    let part = r#"<part xmlns="urn:coeus:test:lab"><id>1</id><nothing/></part>"#;
    server.send("POST", LAB, r#"{"lab:item":[{"name":"b"}]}"#);
    for (method, at, body, path) in [
        ("PUT", format!("{LAB}/item=a"), wrong, "/l:lab/l:item[l:name='a']/l:value"),
        ("POST", LAB.to_owned(), wrong, "/l:lab/l:item[l:name='a']/l:value"),
        ("POST", format!("{LAB}/item=b"), part, "/l:lab/l:item[l:name='b']/l:part[l:id='1']"),
    ] {
        let answer = sending(&server, method, &at, body);
        assert_eq!((answer.status, answer.header("content-type")), (400, Some(XML)));
        let path = format!("<error-path xmlns:l=\"urn:coeus:test:lab\">{path}</error-path>");
        for part in
            ["<errors xmlns=\"urn:ietf:params:xml:ns:yang:ietf-restconf\"><error>", "<error-tag>", &path]
        {
            assert!(answer.body.contains(part), "{part} in {}", answer.body);
        }
    }
}

#[test]
fn rfc8040_3_3_the_root_resource_is_xml_too() {
    let server = Server::lab();
    let root = accepting(&server, XML, "GET", "/rests").body;
    let begin = "<restconf xmlns=\"urn:ietf:params:xml:ns:yang:ietf-restconf\"><data></data><operations>";
    let known = "<echo xmlns=\"urn:coeus:test:lab\"></echo><ping xmlns=\"urn:coeus:test:lab\"></ping>";
    let end = "</operations><yang-library-version>2019-01-04</yang-library-version></restconf>";
    assert!(root.starts_with(begin) && root.contains(known) && root.ends_with(end), "{root}");
    let library = accepting(&server, XML, "GET", "/rests/yang-library-version").body;
    assert_eq!(
        library,
        "<yang-library-version xmlns=\"urn:ietf:params:xml:ns:yang:ietf-restconf\">2019-01-04</yang-library-version>"
    );
}

#[test]
fn rfc8040_3_6_operations_speak_xml() {
    let server = Server::lab();
    let input = r#"<input xmlns="urn:coeus:test:lab"><text>hi</text></input>"#;
    let answer = sending(&server, "POST", "/rests/operations/lab:echo", input);
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (200, r#"<output xmlns="urn:coeus:test:lab"><text>hi</text></output>"#)
    );
}

#[test]
fn rfc8072_a_patch_may_be_xml() {
    let server = Server::lab();
    let kind = "Content-Type: application/yang-patch+xml\r\nAccept: application/yang-data+xml\r\n";
    let patch = |edits: &str| {
        format!(
            "<yang-patch xmlns=\"urn:ietf:params:xml:ns:yang:ietf-yang-patch\"><patch-id>p</patch-id>{edits}</yang-patch>"
        )
    };
    let edit = "<edit><edit-id>1</edit-id><operation>create</operation><target>/item=a</target>\
        <value><item xmlns=\"urn:coeus:test:lab\"><name>a</name></item></value></edit>\
        <edit><edit-id>2</edit-id><operation>insert</operation><target>/step=x</target><where>first</where>\
        <value><l:step xmlns:l=\"urn:coeus:test:lab\"><l:name>x</l:name></l:step></value></edit>";
    let done = server.with(kind, "PATCH", LAB, &patch(edit));
    assert_eq!(
        (done.status, done.body.as_str()),
        (
            200,
            "<yang-patch-status xmlns=\"urn:ietf:params:xml:ns:yang:ietf-yang-patch\"><patch-id>p</patch-id><ok></ok></yang-patch-status>"
        )
    );
    let again = server.with(kind, "PATCH", LAB, &patch(edit));
    assert_eq!(again.status, 409);
    assert!(again.body.contains("<edit-status><edit><edit-id>1</edit-id><errors><error><error-type>application</error-type><error-tag>data-exists</error-tag>"), "{}", again.body);
    for wrong in [
        "",
        "<x/>",
        "<yang-patch/>",
        &patch("<edit/>"),
        &patch("<colour/>"),
        &patch("<patch-id>q</patch-id>"),
        &patch(&edit.replace("create", "improve")),
        &patch(&edit.replace("<name>a</name>", "<name>b</name>")),
        &patch("<edit><edit-id>1</edit-id><operation>delete</operation></edit>"),
        &format!("{}<x/>", patch("")),
    ] {
        assert_eq!(server.with(kind, "PATCH", LAB, wrong).status, 400, "{wrong}");
    }
}

#[test]
fn long_xml_answers_come_in_pieces_too() {
    use coeus::datastore::{Edit, Store, Transaction};
    use coeus::schema::{DataPath, json as yang_json, xml};
    let server = Server::lab();
    let schema = server.datastore.snapshot().schema;
    let items: Vec<_> = (0..10_000).map(|at| json!({"name": format!("item-{at:06}")})).collect();
    let body = json!({"lab:lab": {"item": items}}).to_string();
    let path = DataPath::parse_rfc8040(schema, "lab:lab").unwrap();
    let node = yang_json::parse_resource(schema, &path, body.as_bytes(), yang_json::Mode::Strict).unwrap();
    let mut whole = Vec::new();
    xml::write_resource(schema, &path, &node, &mut whole).unwrap();
    let edit = Edit::put(Store::Config, path, node);
    server.datastore.commit_blocking(Transaction::new("test", vec![edit])).unwrap();
    let answer = accepting(&server, XML, "GET", LAB);
    assert!(answer.body.as_bytes() == whole && answer.chunks > 1, "{} chunks", answer.chunks);
}
