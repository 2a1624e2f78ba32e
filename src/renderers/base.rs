//! The flows that every switch has: the miss of each table, and what netvirt calls default flows.

use super::{Key, Keys, Rendered, Renderer};
use crate::model::{Model, Touched};
use crate::pipeline;

/// Renders `pipeline::base_flows` for each known switch.
pub struct Base;

impl Renderer for Base {
    fn name(&self) -> &'static str {
        "base"
    }

    fn affected(&self, touched: &Touched, _: &Model, keys: &mut Keys) {
        keys.extend(touched.switches.iter().copied().map(Key::Switch));
    }

    fn render(&self, key: &Key, model: &Model, out: &mut Rendered) {
        let Key::Switch(dpid) = key else { return };
        if model.switch(*dpid).is_some() {
            for flow in pipeline::base_flows() {
                out.flow(*dpid, flow);
            }
        }
    }
}
