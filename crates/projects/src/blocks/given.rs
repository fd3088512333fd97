//! Blocks as a caller gives them.

use serde_json::{Map, Value};

use crate::error::{Problem, Refusal};
use crate::limits::{MAX_DEPTH, MAX_NEW_BLOCKS, MAX_PROBLEMS};

/// A block to create, with what is inside.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewBlock {
    /// The name of its type.
    pub kind: String,
    /// Its props.
    pub props: Map<String, Value>,
    /// What is inside, in order.
    pub children: Vec<NewBlock>,
}

impl NewBlock {
    /// A block without anything inside.
    pub fn new(kind: impl Into<String>, props: Map<String, Value>) -> Self {
        Self { kind: kind.into(), props, children: Vec::new() }
    }

    /// Reads `{ "type", "props", "children" }`, or a list of such. Tells everything that is wrong with their form.
    pub fn parse(value: &Value) -> Result<Vec<Self>, Refusal> {
        let mut reader = Reader { count: 0, problems: Vec::new() };
        let blocks = match value {
            Value::Array(items) => reader.list("", items, 1),
            one => reader.block("", one, 1).into_iter().collect(),
        };
        if reader.count > MAX_NEW_BLOCKS {
            return Err(too_many());
        }
        Refusal::if_any(reader.problems)?;
        Ok(blocks)
    }

    /// How many blocks it is, with all that is inside.
    pub fn count(&self) -> usize {
        1 + self.children.iter().map(Self::count).sum::<usize>()
    }

    /// How many levels it has.
    pub fn height(&self) -> usize {
        1 + self.children.iter().map(Self::height).max().unwrap_or(0)
    }
}

/// Says that one call may not create so many blocks.
pub fn too_many() -> Refusal {
    Refusal::TooLarge { what: "blocks in one call", limit: MAX_NEW_BLOCKS as u64 }
}

struct Reader {
    count: usize,
    problems: Vec<Problem>,
}

impl Reader {
    fn list(&mut self, path: &str, items: &[Value], depth: usize) -> Vec<NewBlock> {
        let read = |(at, item): (usize, &Value)| self.block(&format!("{path}/{at}"), item, depth);
        items.iter().take(MAX_NEW_BLOCKS + 1).enumerate().filter_map(read).collect()
    }

    fn block(&mut self, path: &str, value: &Value, depth: usize) -> Option<NewBlock> {
        self.count += 1;
        if self.count > MAX_NEW_BLOCKS || self.problems.len() > MAX_PROBLEMS {
            return None;
        }
        if depth > MAX_DEPTH {
            self.tell(path, format!("is deeper than {MAX_DEPTH} blocks; make the tree flatter"));
            return None;
        }
        let Value::Object(members) = value else {
            self.tell(path, "must be an object with `type`, `props` and `children`".to_owned());
            return None;
        };
        let mut block = NewBlock::default();
        for (name, value) in members {
            let at = format!("{path}/{}", crate::naming::pointer(name));
            match (name.as_str(), value) {
                ("type", Value::String(kind)) => block.kind.clone_from(kind),
                ("props", Value::Object(props)) => block.props.clone_from(props),
                ("children", Value::Array(items)) => block.children = self.list(&at, items, depth + 1),
                ("type", _) => self.tell(&at, "must be a string".to_owned()),
                ("props", _) => self.tell(&at, "must be an object".to_owned()),
                ("children", _) => self.tell(&at, "must be an array".to_owned()),
                _ => self.tell(&at, "is not known; a block has `type`, `props` and `children`".to_owned()),
            }
        }
        if !members.contains_key("type") {
            self.tell(path, "must have a `type`".to_owned());
        }
        Some(block)
    }

    fn tell(&mut self, path: &str, message: String) {
        if self.problems.len() <= MAX_PROBLEMS {
            self.problems.push(Problem::new(path, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_or_several() {
        let one = json!({ "type": "section", "children": [{ "type": "text", "props": { "text": "a" } }] });
        let read = NewBlock::parse(&one).unwrap();
        assert_eq!((read.len(), read[0].count(), read[0].height()), (1, 2, 2));
        assert_eq!(NewBlock::parse(&json!([one, one])).unwrap().len(), 2);
        assert_eq!(NewBlock::parse(&json!([])).unwrap(), []);
    }

    #[test]
    fn everything_that_is_wrong() {
        let given = json!([7, { "props": [], "kind": "x" }, { "type": 1, "children": [{ "type": "a", "children": {} }] }]);
        let Err(Refusal::Invalid(problems)) = NewBlock::parse(&given) else { panic!() };
        let found: Vec<_> = problems.iter().map(|problem| problem.path.as_str()).collect();
        assert_eq!(found, ["/0", "/1/kind", "/1/props", "/1", "/2/children/0/children", "/2/type"]);
        let many: Map<String, Value> = (0..5000).map(|n| (n.to_string(), json!(1))).collect();
        let Err(Refusal::Invalid(problems)) = NewBlock::parse(&Value::Object(many)) else { panic!() };
        assert_eq!(problems.len(), MAX_PROBLEMS + 1);
    }

    #[test]
    fn limits() {
        let deep = |levels: usize| {
            (1..levels).fold(
                json!({ "type": "section" }),
                |inner, _| json!({ "type": "section", "children": [inner] }),
            )
        };
        assert!(NewBlock::parse(&deep(MAX_DEPTH)).is_ok());
        assert!(matches!(NewBlock::parse(&deep(MAX_DEPTH + 1)), Err(Refusal::Invalid(_))));
        let wide = |count: usize| json!(vec![json!({ "type": "text" }); count]);
        assert!(NewBlock::parse(&wide(MAX_NEW_BLOCKS)).is_ok());
        assert!(matches!(NewBlock::parse(&wide(MAX_NEW_BLOCKS + 1)), Err(Refusal::TooLarge { .. })));
    }
}
