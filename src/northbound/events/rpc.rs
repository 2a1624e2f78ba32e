//! The RPCs of RFC 8639 and 8641.

use super::actor::{Registry, uri};
use super::feed::Feed;
use super::notify::Maker;
use super::request::Input;
use crate::northbound::restconf::{Call, Operations, Outcome, Problem};
use crate::schema::{Fields, Schema};

const SUBSCRIBED: &str = "ietf-subscribed-notifications";

/// Has the RPCs answered.
pub fn register(operations: &mut Operations, schema: &'static Schema, registry: &Registry) {
    let mut on = |module: &str, name: &'static str| {
        let Some(id) = schema.rpc(module, name) else { return };
        let registry = registry.clone();
        operations.on(id, move |call: Call| {
            let registry = registry.clone();
            async move { answer(schema, &registry, name, call).await }
        });
    };
    for name in ["establish-subscription", "modify-subscription", "delete-subscription", "kill-subscription"]
    {
        on(SUBSCRIBED, name);
    }
    on("ietf-yang-push", "resync-subscription");
}

async fn answer(schema: &'static Schema, registry: &Registry, name: &str, call: Call) -> Outcome {
    let Some((rpc, of)) = call.path.last_node().and_then(|rpc| Some((rpc, schema.input(rpc)?))) else {
        return Err(Problem::new("operation-failed", "the operation has no input").into());
    };
    let input = Input { schema, of, fields: &call.input };
    let user = call.user.as_str();
    let id = input.uint("id").and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
    match name {
        "establish-subscription" => {
            let order = input.establish()?;
            // What cannot begin is refused now, not when somebody reads.
            Feed::start(&call.datastore, order.clone(), None)?;
            let id = registry.establish(user, order).await?;
            let Some(output) = schema.output(rpc) else { return Ok(Fields::default()) };
            return Ok(Maker::new(schema, output).leaf("id", &id.to_string()).leaf("uri", &uri(id)).fields());
        }
        "modify-subscription" => {
            let order = input.modify(&*registry.order(id, user)?)?;
            registry.modify(id, user, |_| order).await?;
        }
        "delete-subscription" => registry.end(id, Some(user), false).await?,
        "kill-subscription" => registry.end(id, None, true).await?,
        _ => registry.resync(id, user)?,
    }
    Ok(Fields::default())
}
