use crate::schema::Text;

/// RFC 1035 section 3.1, without compression, which RFC 3397 permits and RFC 8415 section 10 demands.
pub fn names(domains: &[Text]) -> Vec<u8> {
    let mut data = Vec::new();
    for domain in domains {
        let labels = domain.split('.').filter(|label| !label.is_empty());
        for label in labels {
            let label = label.as_bytes().get(..63).unwrap_or(label.as_bytes());
            data.push(label.len() as u8);
            data.extend_from_slice(label);
        }
        data.push(0);
    }
    data
}
