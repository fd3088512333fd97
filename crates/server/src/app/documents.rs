//! The documents that `faq` searches: those in the binary, and indexes of the user.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use knowledge::{Answer, Index, IndexedDocument, Library, Query, shipped};

use crate::error::RequestError;
use crate::telemetry::request_span::in_request_span;

/// Which documents are searched.
#[derive(Clone, Debug)]
pub struct DocumentSettings {
    /// Those that are part of the program.
    pub shipped: bool,
    /// Files that `fluxway index` wrote. They go before what is shipped.
    pub indexes: Vec<PathBuf>,
}

impl Default for DocumentSettings {
    fn default() -> Self {
        Self { shipped: true, indexes: Vec::new() }
    }
}

/// The documents, opened on first use.
pub(crate) struct DocumentIndexes {
    settings: DocumentSettings,
    opened: OnceLock<OpenedIndexes>,
}

struct OpenedIndexes {
    custom: Vec<Index>,
    /// What is wrong with those that could not be opened, and what to do about it.
    problems: Vec<String>,
}

impl DocumentIndexes {
    pub(crate) fn new(settings: DocumentSettings) -> Self {
        Self { settings, opened: OnceLock::new() }
    }

    fn opened(&self) -> &OpenedIndexes {
        self.opened.get_or_init(|| {
            let mut opened = OpenedIndexes { custom: Vec::new(), problems: Vec::new() };
            for path in &self.settings.indexes {
                match load_index(path) {
                    Ok(index) => opened.custom.push(index),
                    Err(problem) => {
                        in_request_span(|| tracing::error!(problem, "an index is not searched"));
                        opened.problems.push(problem);
                    }
                }
            }
            opened
        })
    }

    /// What is wrong with indexes that are not searched.
    pub(crate) fn problems(&self) -> &[String] {
        &self.opened().problems
    }

    fn indexes(&self) -> impl Iterator<Item = &Index> {
        self.opened().custom.iter().chain(self.settings.shipped.then(shipped::index))
    }

    /// Answers a question from them.
    pub(crate) fn answer(&self, query: &Query<'_>) -> Result<Answer, RequestError> {
        let indexes: Vec<&Index> = self.indexes().collect();
        if indexes.is_empty() {
            let nothing =
                "no documents are searched: name an index with --index, or leave out --no-shipped-docs";
            let problem = self.problems().first().map_or(nothing, String::as_str);
            return Err(RequestError::Index { problem: problem.to_owned() });
        }
        let library = Library::new(shipped::encoder(), indexes);
        let library = library.map_err(|error| RequestError::Index { problem: error.to_string() })?;
        library.answer(query).map_err(|error| RequestError::invalid_argument("query", error.to_string()))
    }

    /// Every page, in the order in which their indexes are searched.
    pub(crate) fn pages(&self) -> impl Iterator<Item = IndexedDocument<'_>> {
        self.indexes().flat_map(Index::documents)
    }

    /// The page at a path. Of several, the one that is searched first.
    pub(crate) fn page(&self, path: &str) -> Option<IndexedDocument<'_>> {
        self.indexes().find_map(|index| index.document(path))
    }
}

/// Opens an index file. One that another version wrote is as useless as one that is damaged.
fn load_index(path: &Path) -> Result<Index, String> {
    let problem = |what: &dyn std::fmt::Display| {
        format!("the index {} cannot be used: {what}; make it again with `fluxway index DIR`", path.display())
    };
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(|| problem(&"it is no file"))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let tree = tree::Tree::open(folder).map_err(|error| problem(&error))?;
    let index = Index::load(&tree, name).map_err(|error| problem(&error))?;
    // One that was made with other vectors would make the whole library unusable.
    Library::new(shipped::encoder(), vec![&index]).map_err(|error| problem(&error))?;
    Ok(index)
}
