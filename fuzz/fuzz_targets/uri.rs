//! Resource identifiers of both roots, and instance-identifiers: no panic, and what is understood is written back as it was meant.
#![no_main]

use coeus::schema::{DataPath, Kind, builtin};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let schema = builtin();
    for path in [
        DataPath::parse_rfc8040(schema, text),
        DataPath::parse_legacy(schema, text),
        DataPath::parse_instance_identifier(schema, text),
    ]
    .into_iter()
    .flatten()
    {
        let again = DataPath::parse_rfc8040(schema, &path.to_rfc8040(schema));
        assert_eq!(again.as_ref(), Ok(&path), "{text:?}");
        // An instance-identifier names one instance, so no list as a whole.
        let lists = |kind: &Kind| matches!(kind, Kind::List { .. } | Kind::LeafList { .. });
        let whole = path.steps.iter().any(|step| step.key.is_none() && lists(&schema.node(step.node).kind));
        if !whole && !path.steps.is_empty() {
            let again = DataPath::parse_instance_identifier(schema, &path.display(schema));
            assert_eq!(again.as_ref(), Ok(&path), "{text:?}");
        }
    }
});
