//! tantivy on the same passages: three fields, English stems, BM25; a page is as good as its best passage.

use std::time::Instant;

use tantivy::collector::TopDocs;
use tantivy::query::QueryParser;
use tantivy::schema::{IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions, Value};
use tantivy::{Index, ReloadPolicy, TantivyDocument};

use super::{JudgedCollection, RankedPages, RankingQuality};
use crate::BenchResult;

/// Passages that are fetched, so that ten pages are among them.
const FETCH_LIMIT: usize = 100;

/// The same figures as ours, as far as it has them.
pub(super) fn measure_figures(collection: &JudgedCollection) -> BenchResult<Vec<Option<f64>>> {
    let stemmed =
        TextFieldIndexing::default().set_tokenizer("en_stem").set_index_option(IndexRecordOption::WithFreqs);
    let stemmed = TextOptions::default().set_indexing_options(stemmed);
    let mut schema = Schema::builder();
    let page = schema.add_text_field("page", STRING | STORED);
    let fields = ["title", "heading", "text"].map(|name| schema.add_text_field(name, stemmed.clone()));
    let start = Instant::now();
    let index = Index::create_in_ram(schema.build());
    let mut writer = index.writer_with_num_threads::<TantivyDocument>(1, 100_000_000)?;
    for passage in &collection.passages {
        let mut document = TantivyDocument::default();
        document.add_text(page, &passage[0]);
        for (field, text) in fields.iter().zip(&passage[1..]) {
            document.add_text(*field, text);
        }
        writer.add_document(document)?;
    }
    writer.commit()?;
    let indexing = start.elapsed().as_secs_f64() * 1e3;
    let searcher = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?.searcher();
    let mut parser = QueryParser::for_index(&index, fields.to_vec());
    parser.set_field_boost(fields[0], 3.0);
    parser.set_field_boost(fields[1], 2.0);
    let search = |text: &str| -> BenchResult<RankedPages> {
        let (query, _) = parser.parse_query_lenient(text);
        let mut ranked = RankedPages::new();
        for (_, address) in searcher.search(&query, &TopDocs::with_limit(FETCH_LIMIT).order_by_score())? {
            let document: TantivyDocument = searcher.doc(address)?;
            let name = document.get_first(page).and_then(|value| value.as_str()).unwrap_or_default();
            if ranked.len() < 10 && ranked.iter().all(|known| known != name) {
                ranked.push(name.to_owned());
            }
        }
        Ok(ranked)
    };
    let quality = RankingQuality::measure(collection, |text| search(text).unwrap_or_default());
    let mut figures = quality.figures();
    figures.extend([None, None, Some(indexing), None, None, Some(quality.p50()), Some(quality.p99())]);
    Ok(figures)
}
