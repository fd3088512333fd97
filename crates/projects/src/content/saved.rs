//! A project's content as text, and back.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Content;
use crate::asset::{Asset, ContentType, Digest};
use crate::blocks::Block;
use crate::ids::{AssetId, BlockId};
use crate::order::OrderKey;
use crate::project::Fields;
use crate::types::{Children, CustomType};
use design_tokens::Document;

/// The form of the text. Older ones must stay readable.
const FORM: u32 = 1;

/// Why a text is no content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not the content of a project: {0}")]
pub struct Unreadable(String);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved<'a> {
    form: u32,
    name: Cow<'a, str>,
    slug: Cow<'a, str>,
    description: Cow<'a, str>,
    metadata: Cow<'a, Map<String, Value>>,
    types: Vec<SavedType<'a>>,
    blocks: Vec<SavedBlock<'a>>,
    /// As text: it keeps the order of its names.
    design: String,
    assets: Vec<SavedAsset>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedType<'a> {
    name: Cow<'a, str>,
    description: Cow<'a, str>,
    schema: Cow<'a, Value>,
    /// `null`: any. A list: only these.
    children: Option<Vec<String>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedBlock<'a> {
    id: Cow<'a, str>,
    r#type: Cow<'a, str>,
    parent: Option<Cow<'a, str>>,
    order: Cow<'a, str>,
    props: Cow<'a, Map<String, Value>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedAsset {
    id: String,
    name: String,
    content_type: String,
    bytes: u64,
    sha256: String,
    created: String,
    alt: String,
}

impl Content {
    /// The content as text.
    pub fn encode(&self) -> String {
        let saved = Saved {
            form: FORM,
            name: Cow::Borrowed(&self.fields.name),
            slug: Cow::Borrowed(&self.fields.slug),
            description: Cow::Borrowed(&self.fields.description),
            metadata: Cow::Borrowed(&self.fields.metadata),
            types: self.types.iter().map(SavedType::of).collect(),
            blocks: self.blocks.iter().map(SavedBlock::of).collect(),
            design: self.design.to_string(),
            assets: self.assets.iter().map(SavedAsset::of).collect(),
        };
        // Strings, numbers and maps with text for names: nothing in it can fail.
        serde_json::to_string(&saved).unwrap_or_default()
    }

    /// Takes back what [`Content::encode`] gave.
    pub fn decode(text: &str) -> Result<Self, Unreadable> {
        let saved: Saved<'_> = serde_json::from_str(text).map_err(unreadable)?;
        if saved.form != FORM {
            return Err(Unreadable(format!("its form is {} and this program knows {FORM}", saved.form)));
        }
        Ok(Self {
            fields: Fields {
                name: saved.name.into_owned(),
                slug: saved.slug.into_owned(),
                description: saved.description.into_owned(),
                metadata: saved.metadata.into_owned(),
            },
            types: saved.types.into_iter().map(SavedType::back).collect(),
            blocks: saved.blocks.into_iter().map(SavedBlock::back).collect::<Result<_, _>>()?,
            design: Document::stored(&saved.design).map_err(unreadable)?,
            assets: saved.assets.into_iter().map(SavedAsset::back).collect::<Result<_, _>>()?,
        })
    }
}

fn unreadable(error: impl std::fmt::Display) -> Unreadable {
    Unreadable(error.to_string())
}

impl<'a> SavedType<'a> {
    fn of(own: &'a CustomType) -> Self {
        Self {
            name: Cow::Borrowed(&own.name),
            description: Cow::Borrowed(&own.description),
            schema: Cow::Borrowed(&own.schema),
            children: own.children.names(),
        }
    }

    fn back(self) -> CustomType {
        CustomType {
            name: self.name.into_owned(),
            description: self.description.into_owned(),
            schema: self.schema.into_owned(),
            children: Children::of_names(self.children),
        }
    }
}

impl<'a> SavedBlock<'a> {
    fn of(block: &'a Block) -> Self {
        Self {
            id: block.id.as_str().into(),
            r#type: Cow::Borrowed(&block.kind),
            parent: block.parent.as_ref().map(|parent| parent.as_str().into()),
            order: block.order.as_str().into(),
            props: Cow::Borrowed(&block.props),
        }
    }

    fn back(self) -> Result<Block, Unreadable> {
        let parent = self.parent.map(|parent| BlockId::parse(&parent)).transpose();
        Ok(Block {
            id: BlockId::parse(&self.id).map_err(unreadable)?,
            kind: self.r#type.into_owned(),
            parent: parent.map_err(unreadable)?,
            order: OrderKey::parse(&self.order).map_err(unreadable)?,
            props: self.props.into_owned(),
        })
    }
}

impl SavedAsset {
    fn of(asset: &Asset) -> Self {
        Self {
            id: asset.id.to_string(),
            name: asset.name.clone(),
            content_type: asset.content_type.to_string(),
            bytes: asset.bytes,
            sha256: asset.digest.to_string(),
            created: asset.created.to_string(),
            alt: asset.alt.clone(),
        }
    }

    fn back(self) -> Result<Asset, Unreadable> {
        let content_type = ContentType::parse(&self.content_type);
        Ok(Asset {
            id: AssetId::parse(&self.id).map_err(unreadable)?,
            name: self.name,
            content_type: content_type.ok_or_else(|| unreadable("an asset of an unknown type"))?,
            bytes: self.bytes,
            digest: Digest::parse(&self.sha256).ok_or_else(|| unreadable("an asset without a digest"))?,
            created: self.created.parse::<Timestamp>().map_err(unreadable)?,
            alt: self.alt,
        })
    }
}

impl Children {
    /// As it is kept: nothing for any, else the names.
    pub fn names(&self) -> Option<Vec<String>> {
        match self {
            Self::Any => None,
            Self::None => Some(Vec::new()),
            Self::Only(names) => Some(names.clone()),
        }
    }

    /// Takes back what [`Children::names`] gave.
    pub fn of_names(names: Option<Vec<String>>) -> Self {
        match names {
            None => Self::Any,
            Some(names) if names.is_empty() => Self::None,
            Some(names) => Self::Only(names),
        }
    }
}
