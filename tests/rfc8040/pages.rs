//! Pages of lists: draft-ietf-netconf-list-pagination and its mapping to RESTCONF.

use serde_json::{Value, json};

use crate::support::{Answer, Server};

const LAB: &str = "/rests/data/lab:lab";
const XML_LIST: &str = "Accept: application/yang-data+xml-list\r\n";

/// Twenty-five items whose values fall while their names rise; two of them have parts and notes.
fn filled() -> Server {
    let server = Server::lab();
    let mut items: Vec<Value> =
        (0..25).map(|at| json!({"name": format!("n/{at:02}"), "value": 25 - at})).collect();
    items[3]["part"] = json!([{"id": 1, "text": "x"}, {"id": 2, "text": "y"}, {"id": 3}]);
    items[3]["note"] = json!("a");
    items[5]["note"] = json!("b");
    items[5]["inner"] = json!({"deep": "d"});
    let body = json!({"lab:lab": {"title": "n/07", "item": items, "tag": ["a", "b", "c"], "order": ["z", "x", "y"]}});
    assert_eq!(server.send("PUT", LAB, &body.to_string()).status, 201);
    server
}

fn get(server: &Server, query: &str) -> Answer {
    server.send("GET", &format!("{LAB}/item?{query}"), "")
}

fn names(answer: &Answer) -> Vec<String> {
    let body = answer.json();
    let all = body["lab:item"].as_array().unwrap_or_else(|| panic!("{}", answer.body)).iter();
    all.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

fn app_tag(answer: &Answer) -> Option<String> {
    let body: Value = serde_json::from_str(&answer.body).ok()?;
    Some(body["ietf-restconf:errors"]["error"][0]["error-app-tag"].as_str()?.to_owned())
}

/// Where `Link` leads.
fn linked(answer: &Answer, relation: &str) -> Option<String> {
    let end = format!(">; rel=\"{relation}\"");
    let links = answer.headers.lines().filter_map(|line| line.split_once(": "));
    let mut links = links.filter(|(name, _)| name.eq_ignore_ascii_case("link")).map(|(_, link)| link.trim());
    links.find_map(|link| link.strip_prefix('<')?.strip_suffix(&end).map(str::to_owned))
}

#[test]
fn limit_and_cursor_lead_through_a_list_and_back() {
    let server = filled();
    let (mut at, mut seen) = (format!("{LAB}/item?limit=10"), Vec::new());
    let last = loop {
        let page = server.send("GET", &at, "");
        assert_eq!(page.status, 200, "{}", page.body);
        seen.extend(names(&page));
        assert_eq!(page.header("x-remaining"), Some((25 - seen.len()).to_string().as_str()));
        let said = page.json()["lab:item"][0]["@"]["ietf-list-pagination:remaining"].clone();
        assert_eq!(said, if seen.len() < 25 { json!(25 - seen.len()) } else { json!(null) });
        match linked(&page, "next") {
            Some(next) => at = next,
            None => break page,
        }
    };
    assert_eq!(seen, (0..25).map(|at| format!("n/{at:02}")).collect::<Vec<_>>());
    let middle = server.send("GET", &linked(&last, "prev").unwrap(), "");
    assert_eq!((names(&middle)[0].as_str(), names(&middle).len()), ("n/10", 10));
    let first = server.send("GET", &linked(&middle, "prev").unwrap(), "");
    assert_eq!((names(&first)[0].as_str(), linked(&first, "prev")), ("n/00", None));
    // What the metadata say goes into the query as any text does.
    let cursor = first.json()["lab:item"][0]["@"]["ietf-list-pagination:next"].clone();
    let cursor = cursor.as_str().unwrap().replace('%', "%25");
    assert_eq!(names(&get(&server, &format!("limit=1&cursor={cursor}"))), ["n/10"]);
    assert_eq!(names(&get(&server, "limit=1&cursor=n%2F09")), ["n/10"], "once is enough, too");
    assert_eq!(names(&get(&server, "limit=1&cursor=")), ["n/00"], "nothing is the beginning");
    assert_eq!(get(&server, "limit=25").json()["lab:item"][0]["@"], json!(null), "nothing is left out");
}

#[test]
fn offset_direction_and_sort_by_come_in_the_order_of_the_draft() {
    let server = filled();
    let of = |query: &str| names(&get(&server, query));
    assert_eq!(of("offset=23"), ["n/23", "n/24"]);
    assert_eq!(of("offset=25"), Vec::<String>::new());
    assert_eq!(of("limit=2&direction=backwards"), ["n/24", "n/23"]);
    assert_eq!(of("limit=2&sort-by=value"), ["n/24", "n/23"]);
    assert_eq!(of("limit=2&sort-by=value&direction=backwards&offset=1"), ["n/01", "n/02"]);
    assert_eq!(of("limit=3&sort-by=note"), ["n/03", "n/05", "n/00"], "what has none comes last");
    assert_eq!(of("limit=1&sort-by=inner/deep&locale=C.UTF-8"), ["n/05"]);
    assert_eq!(get(&server, "limit=1&fields=value").json()["lab:item"][0]["value"], 25);
    let order = |query: &str| server.send("GET", &format!("{LAB}/order?{query}"), "").json();
    assert_eq!(order("sort-by=."), json!({"lab:order": ["x", "y", "z"]}));
    let page = server.send("GET", &format!("{LAB}/order?limit=2"), "");
    let said = json!({"lab:order": ["z", "x"], "@lab:order": [{"ietf-list-pagination:remaining": 1}]});
    assert_eq!(page.json(), said);
    assert_eq!(server.send("GET", &linked(&page, "next").unwrap(), "").json(), json!({"lab:order": ["y"]}));
}

#[test]
fn where_chooses_entries() {
    let server = filled();
    let of = |condition: &str| names(&get(&server, &format!("where={condition}")));
    assert_eq!(of("value=20"), ["n/05"]);
    assert_eq!(of("lab:value%3E23"), ["n/00", "n/01"]);
    assert_eq!(of("starts-with(name,'n/1')%20and%20value%3C8"), ["n/18", "n/19"]);
    assert_eq!(of("part"), ["n/03"]);
    assert_eq!(of("part[text='y']"), ["n/03"]);
    assert_eq!(of("count(part)=2%20or%20inner/deep"), ["n/05"]);
    assert_eq!(of("name=/lab:lab/lab:title"), ["n/07"]);
    assert_eq!(of("not(value%3E0)"), Vec::<String>::new());
    assert_eq!(of("not(note)&sort-by=value&limit=1&offset=1"), ["n/23"], "chosen first, then sorted");
    let pages = get(&server, "where=value%3E20&limit=2");
    assert_eq!((names(&pages).len(), pages.header("x-remaining")), (2, Some("3")));
    assert_eq!(names(&server.send("GET", &linked(&pages, "next").unwrap(), "")), ["n/02", "n/03"]);
    let tags = server.send("GET", &format!("{LAB}/tag?where=.%3E'a'%20or%20.='b'"), "").json();
    assert_eq!(tags, json!({"lab:tag": ["b"]}));
    let legacy = server.send("GET", "/restconf/config/lab:lab/item?where=value=20", "").json();
    assert_eq!(legacy["lab:item"][0]["name"], "n/05");
}

#[test]
fn an_entity_tag_tells_of_all_that_a_condition_reads() {
    let server = filled();
    assert!(get(&server, "where=value=20").header("etag").is_some());
    let elsewhere = "where=name=/lab:lab/lab:title";
    assert_eq!(get(&server, elsewhere).header("etag"), None);
    assert_eq!(server.send("PATCH", LAB, r#"{"lab:lab":{"title":"n/08"}}"#).status, 204);
    assert_eq!(names(&get(&server, elsewhere)), ["n/08"]);
}

#[test]
fn sublist_limit_is_for_the_lists_below() {
    let server = filled();
    let part = get(&server, "where=name='n/03'&sublist-limit=2").json()["lab:item"][0].clone();
    let said =
        json!([{"@": {"ietf-list-pagination:remaining": 1}, "id": 1, "text": "x"}, {"id": 2, "text": "y"}]);
    assert_eq!(part["part"], said);
    let lab = server.send("GET", &format!("{LAB}?sublist-limit=1"), "").json()["lab:lab"].clone();
    assert_eq!(lab["item"].as_array().unwrap().len(), 1);
    assert_eq!(lab["item"][0]["@"]["ietf-list-pagination:remaining"], 24);
    assert_eq!((&lab["tag"], &lab["@tag"]), (&json!(["a"]), &json!([{"ietf-list-pagination:remaining": 2}])));
    let all = get(&server, "sublist-limit=1");
    assert_eq!(names(&all).len(), 25, "the list itself is not below itself");
    let xml =
        server.with("Accept: application/yang-data+xml\r\n", "GET", &format!("{LAB}?sublist-limit=1"), "");
    let tag =
        "<tag xmlns:lpg=\"urn:ietf:params:xml:ns:yang:ietf-list-pagination\" lpg:remaining=\"2\">a</tag>";
    assert!(xml.body.contains(tag), "{}", xml.body);
    assert_eq!(server.send("GET", "/rests/data?sublist-limit=1", "").status, 200);
}

#[test]
fn a_list_is_one_xml_document_where_that_is_asked_for() {
    let server = filled();
    let xml = |query: &str| server.with(XML_LIST, "GET", &format!("{LAB}/item?{query}"), "");
    let page = xml("limit=2&fields=name");
    assert_eq!(page.header("content-type"), Some("application/yang-data+xml-list"));
    let wanted = "<xml-list xmlns=\"urn:ietf:params:xml:ns:yang:ietf-list-pagination\">\
        <item xmlns=\"urn:coeus:test:lab\" xmlns:lpg=\"urn:ietf:params:xml:ns:yang:ietf-list-pagination\" \
        lpg:remaining=\"23\" lpg:next=\"n%2F01\"><name>n/00</name></item>\
        <item xmlns=\"urn:coeus:test:lab\"><name>n/01</name></item></xml-list>";
    assert_eq!(page.body, wanted);
    let none = "<xml-list xmlns=\"urn:ietf:params:xml:ns:yang:ietf-list-pagination\"></xml-list>";
    assert_eq!(xml("where=false()").body, none);
    assert_ne!(xml("limit=2").header("etag"), get(&server, "limit=2").header("etag"));
    let none = server.with(XML_LIST, "GET", LAB, "");
    assert_eq!(
        (none.status, none.header("content-type")),
        (406, Some("application/yang-data+xml")),
        "no list"
    );
}

#[test]
fn wrong_values_have_the_statuses_of_the_draft() {
    let server = filled();
    for (query, status, tag, app_tag_wanted) in [
        ("offset=26", 416, "invalid-value", Some("ietf-list-pagination:offset-out-of-range")),
        ("cursor=gone", 404, "invalid-value", Some("ietf-list-pagination:cursor-not-found")),
        ("cursor=a,b", 404, "invalid-value", Some("ietf-list-pagination:cursor-not-found")),
        ("sort-by=name&locale=sv_SE", 501, "invalid-value", Some("ietf-list-pagination:locale-unavailable")),
        ("locale=C", 400, "invalid-value", None),
        ("limit=0", 400, "invalid-value", None),
        ("limit=x", 400, "invalid-value", None),
        ("limit=4294967296", 400, "invalid-value", None),
        ("sublist-limit=0", 400, "invalid-value", None),
        ("sort-by=inner", 400, "invalid-value", None),
        ("sort-by=part/id", 400, "invalid-value", None),
        ("direction=up", 400, "invalid-value", None),
        ("where=", 400, "invalid-value", None),
        ("where=nothing", 400, "invalid-value", None),
        ("where=name=", 400, "invalid-value", None),
        ("where=count(part)", 400, "invalid-value", None),
        ("where=part[1", 400, "invalid-value", None),
        ("where=id('x')", 400, "invalid-value", None),
    ] {
        let answer = get(&server, query);
        let found = (answer.status, answer.tag(), app_tag(&answer));
        let wanted = (status, Some(tag.to_owned()), app_tag_wanted.map(str::to_owned));
        assert_eq!(found, wanted, "{query}: {}", answer.body);
    }
    for at in [LAB.to_owned(), format!("{LAB}/item=n%2F00"), "/rests/data".to_owned()] {
        let answer = server.send("GET", &format!("{at}?limit=1"), "");
        assert_eq!((answer.status, answer.tag().as_deref()), (400, Some("operation-not-supported")), "{at}");
    }
    let unnamed = server.send("GET", &format!("{LAB}/order?cursor=z"), "");
    assert_eq!((unnamed.status, unnamed.tag().as_deref()), (501, Some("operation-not-supported")));
}

#[test]
fn a_condition_costs_no_more_than_it_may() {
    let server = Server::lab();
    let items: Vec<_> = (0..400).map(|at| json!({"name": at.to_string()})).collect();
    assert_eq!(server.send("PUT", LAB, &json!({"lab:lab": {"item": items}}).to_string()).status, 201);
    let all = "/lab:lab/lab:item[/lab:lab/lab:item[value=name]/name=name]";
    let answer = get(&server, &format!("where={all}"));
    assert_eq!((answer.status, answer.tag().as_deref()), (400, Some("too-big")), "{}", answer.body);
    assert_eq!(names(&get(&server, "where=name='7'")), ["7"]);
    assert_eq!(names(&get(&server, "where=re-match(name,'%5B01%5D')%20and%20../item%5B2%5D")), ["0", "1"]);
}
