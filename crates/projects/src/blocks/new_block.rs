//! New blocks as given by a caller.

use serde_json::{Map, Value};

use crate::error::{ProjectRejection, ValidationProblem};
use crate::limits::{MAX_BLOCK_DEPTH, MAX_NEW_BLOCKS_PER_CALL, MAX_PROBLEMS};

/// A block to create, with its descendants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewBlock {
    pub kind: String,
    pub props: Map<String, Value>,
    /// In order.
    pub children: Vec<NewBlock>,
}

impl NewBlock {
    /// A block without children.
    pub fn new(kind: impl Into<String>, props: Map<String, Value>) -> Self {
        Self { kind: kind.into(), props, children: Vec::new() }
    }

    /// Parses `{ "type", "props", "children" }`, or an array of these, and reports every structural problem.
    pub fn parse(value: &Value) -> Result<Vec<Self>, ProjectRejection> {
        let mut reader = NewBlockParser { count: 0, problems: Vec::new() };
        let blocks = match value {
            Value::Array(items) => reader.parse_list("", items, 1),
            one => reader.parse_block("", one, 1).into_iter().collect(),
        };
        if reader.count > MAX_NEW_BLOCKS_PER_CALL {
            return Err(too_many_blocks());
        }
        ProjectRejection::reject_if_any(reader.problems)?;
        Ok(blocks)
    }

    /// Number of blocks, descendants included.
    pub fn count(&self) -> usize {
        1 + self.children.iter().map(Self::count).sum::<usize>()
    }

    pub fn height(&self) -> usize {
        1 + self.children.iter().map(Self::height).max().unwrap_or(0)
    }
}

/// Rejection for more blocks than one call may create.
pub fn too_many_blocks() -> ProjectRejection {
    ProjectRejection::TooLarge { what: "blocks in one call", limit: MAX_NEW_BLOCKS_PER_CALL as u64 }
}

struct NewBlockParser {
    count: usize,
    problems: Vec<ValidationProblem>,
}

impl NewBlockParser {
    fn parse_list(&mut self, path: &str, items: &[Value], depth: usize) -> Vec<NewBlock> {
        let read = |(at, item): (usize, &Value)| self.parse_block(&format!("{path}/{at}"), item, depth);
        items.iter().take(MAX_NEW_BLOCKS_PER_CALL + 1).enumerate().filter_map(read).collect()
    }

    fn parse_block(&mut self, path: &str, value: &Value, depth: usize) -> Option<NewBlock> {
        self.count += 1;
        if self.count > MAX_NEW_BLOCKS_PER_CALL || self.problems.len() > MAX_PROBLEMS {
            return None;
        }
        if depth > MAX_BLOCK_DEPTH {
            self.report(path, format!("is nested more than {MAX_BLOCK_DEPTH} blocks deep; flatten the tree"));
            return None;
        }
        let Value::Object(members) = value else {
            self.report(path, "must be an object with `type`, `props` and `children`".to_owned());
            return None;
        };
        let mut block = NewBlock::default();
        for (name, value) in members {
            let at = format!("{path}/{}", crate::naming::escape_pointer_segment(name));
            match (name.as_str(), value) {
                ("type", Value::String(kind)) => block.kind.clone_from(kind),
                ("props", Value::Object(props)) => block.props.clone_from(props),
                ("children", Value::Array(items)) => block.children = self.parse_list(&at, items, depth + 1),
                ("type", _) => self.report(&at, "must be a string".to_owned()),
                ("props", _) => self.report(&at, "must be an object".to_owned()),
                ("children", _) => self.report(&at, "must be an array".to_owned()),
                _ => self.report(&at, "is unknown; a block has `type`, `props` and `children`".to_owned()),
            }
        }
        if !members.contains_key("type") {
            self.report(path, "must have a `type`".to_owned());
        }
        Some(block)
    }

    fn report(&mut self, path: &str, message: String) {
        if self.problems.len() <= MAX_PROBLEMS {
            self.problems.push(ValidationProblem::new(path, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parses_one_block_or_a_list() {
        let one = json!({ "type": "section", "children": [{ "type": "text", "props": { "text": "a" } }] });
        let read = NewBlock::parse(&one).unwrap();
        assert_eq!((read.len(), read[0].count(), read[0].height()), (1, 2, 2));
        assert_eq!(NewBlock::parse(&json!([one, one])).unwrap().len(), 2);
        assert_eq!(NewBlock::parse(&json!([])).unwrap(), []);
    }

    #[test]
    fn all_problems_are_reported_with_pointers() {
        let given = json!([7, { "props": [], "kind": "x" }, { "type": 1, "children": [{ "type": "a", "children": {} }] }]);
        let Err(ProjectRejection::Invalid(problems)) = NewBlock::parse(&given) else { panic!() };
        let found: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
        assert_eq!(found, ["/0", "/1/kind", "/1/props", "/1", "/2/children/0/children", "/2/type"]);
        let many: Map<String, Value> = (0..5000).map(|n| (n.to_string(), json!(1))).collect();
        let Err(ProjectRejection::Invalid(problems)) = NewBlock::parse(&Value::Object(many)) else {
            panic!()
        };
        assert_eq!(problems.len(), MAX_PROBLEMS + 1);
    }

    #[test]
    fn depth_and_count_limits_are_enforced() {
        let deep = |levels: usize| {
            (1..levels).fold(
                json!({ "type": "section" }),
                |inner, _| json!({ "type": "section", "children": [inner] }),
            )
        };
        assert!(NewBlock::parse(&deep(MAX_BLOCK_DEPTH)).is_ok());
        assert!(matches!(NewBlock::parse(&deep(MAX_BLOCK_DEPTH + 1)), Err(ProjectRejection::Invalid(_))));
        let wide = |count: usize| json!(vec![json!({ "type": "text" }); count]);
        assert!(NewBlock::parse(&wide(MAX_NEW_BLOCKS_PER_CALL)).is_ok());
        assert!(matches!(
            NewBlock::parse(&wide(MAX_NEW_BLOCKS_PER_CALL + 1)),
            Err(ProjectRejection::TooLarge { .. })
        ));
    }
}
