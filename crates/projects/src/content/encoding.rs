//! Serialization of a project's content.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ProjectContent;
use crate::asset::{Asset, ContentType, Digest};
use crate::blocks::Block;
use crate::ids::{AssetId, BlockId};
use crate::order::OrderKey;
use crate::project::ProjectFields;
use crate::types::{AllowedChildren, CustomBlockType};
use design_tokens::TokenDocument;

/// Version of the format. Older versions must stay readable.
const FORMAT_VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid project content: {0}")]
pub struct ContentDecodeError(String);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EncodedContent<'a> {
    form: u32,
    name: Cow<'a, str>,
    slug: Cow<'a, str>,
    description: Cow<'a, str>,
    metadata: Cow<'a, Map<String, Value>>,
    types: Vec<EncodedType<'a>>,
    blocks: Vec<EncodedBlock<'a>>,
    /// As text, which keeps the order of its names.
    design: String,
    assets: Vec<EncodedAsset>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EncodedType<'a> {
    name: Cow<'a, str>,
    description: Cow<'a, str>,
    schema: Cow<'a, Value>,
    /// `null` allows any; a list allows only these.
    children: Option<Vec<String>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EncodedBlock<'a> {
    id: Cow<'a, str>,
    r#type: Cow<'a, str>,
    parent: Option<Cow<'a, str>>,
    order: Cow<'a, str>,
    props: Cow<'a, Map<String, Value>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EncodedAsset {
    id: String,
    name: String,
    content_type: String,
    bytes: u64,
    sha256: String,
    created: String,
    alt: String,
}

impl ProjectContent {
    pub fn encode(&self) -> String {
        let saved = EncodedContent {
            form: FORMAT_VERSION,
            name: Cow::Borrowed(&self.fields.name),
            slug: Cow::Borrowed(&self.fields.slug),
            description: Cow::Borrowed(&self.fields.description),
            metadata: Cow::Borrowed(&self.fields.metadata),
            types: self.types.iter().map(EncodedType::from_custom_type).collect(),
            blocks: self.blocks.iter().map(EncodedBlock::from_block).collect(),
            design: self.design.to_string(),
            assets: self.assets.iter().map(EncodedAsset::from_asset).collect(),
        };
        // Cannot fail: strings, numbers, and maps with string keys only.
        serde_json::to_string(&saved).unwrap_or_default()
    }

    /// Parses the output of [`ProjectContent::encode`].
    pub fn decode(text: &str) -> Result<Self, ContentDecodeError> {
        let saved: EncodedContent<'_> = serde_json::from_str(text).map_err(decode_error)?;
        if saved.form != FORMAT_VERSION {
            return Err(ContentDecodeError(format!(
                "format version {} is not supported; expected {FORMAT_VERSION}",
                saved.form
            )));
        }
        Ok(Self {
            fields: ProjectFields {
                name: saved.name.into_owned(),
                slug: saved.slug.into_owned(),
                description: saved.description.into_owned(),
                metadata: saved.metadata.into_owned(),
            },
            types: saved.types.into_iter().map(EncodedType::into_custom_type).collect(),
            blocks: saved.blocks.into_iter().map(EncodedBlock::into_block).collect::<Result<_, _>>()?,
            design: TokenDocument::parse_stored(&saved.design).map_err(decode_error)?,
            assets: saved.assets.into_iter().map(EncodedAsset::into_asset).collect::<Result<_, _>>()?,
        })
    }
}

fn decode_error(error: impl std::fmt::Display) -> ContentDecodeError {
    ContentDecodeError(error.to_string())
}

impl<'a> EncodedType<'a> {
    fn from_custom_type(own: &'a CustomBlockType) -> Self {
        Self {
            name: Cow::Borrowed(&own.name),
            description: Cow::Borrowed(&own.description),
            schema: Cow::Borrowed(&own.schema),
            children: own.children.to_names(),
        }
    }

    fn into_custom_type(self) -> CustomBlockType {
        CustomBlockType {
            name: self.name.into_owned(),
            description: self.description.into_owned(),
            schema: self.schema.into_owned(),
            children: AllowedChildren::from_names(self.children),
        }
    }
}

impl<'a> EncodedBlock<'a> {
    fn from_block(block: &'a Block) -> Self {
        Self {
            id: block.id.as_str().into(),
            r#type: Cow::Borrowed(&block.kind),
            parent: block.parent.as_ref().map(|parent| parent.as_str().into()),
            order: block.order.as_str().into(),
            props: Cow::Borrowed(&block.props),
        }
    }

    fn into_block(self) -> Result<Block, ContentDecodeError> {
        let parent = self.parent.map(|parent| BlockId::parse(&parent)).transpose();
        Ok(Block {
            id: BlockId::parse(&self.id).map_err(decode_error)?,
            kind: self.r#type.into_owned(),
            parent: parent.map_err(decode_error)?,
            order: OrderKey::parse(&self.order).map_err(decode_error)?,
            props: self.props.into_owned(),
        })
    }
}

impl EncodedAsset {
    fn from_asset(asset: &Asset) -> Self {
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

    fn into_asset(self) -> Result<Asset, ContentDecodeError> {
        let content_type = ContentType::parse(&self.content_type);
        Ok(Asset {
            id: AssetId::parse(&self.id).map_err(decode_error)?,
            name: self.name,
            content_type: content_type.ok_or_else(|| decode_error("unknown asset type"))?,
            bytes: self.bytes,
            digest: Digest::parse(&self.sha256)
                .ok_or_else(|| decode_error("asset without a valid digest"))?,
            created: self.created.parse::<Timestamp>().map_err(decode_error)?,
            alt: self.alt,
        })
    }
}

impl AllowedChildren {
    /// The stored form: `None` for any, otherwise the names.
    pub fn to_names(&self) -> Option<Vec<String>> {
        match self {
            Self::Any => None,
            Self::None => Some(Vec::new()),
            Self::Only(names) => Some(names.clone()),
        }
    }

    /// Parses the output of [`AllowedChildren::to_names`].
    pub fn from_names(names: Option<Vec<String>>) -> Self {
        match names {
            None => Self::Any,
            Some(names) if names.is_empty() => Self::None,
            Some(names) => Self::Only(names),
        }
    }
}
