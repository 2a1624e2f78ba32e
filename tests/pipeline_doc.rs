//! docs/pipeline.md says what pipelines/netvirt.toml says.

#[test]
fn the_pipeline_page_is_current() {
    coeus::pipeline::golden::assert_text("docs/pipeline.md", &coeus::pipeline::document());
}
