-- Texts are compared as bytes, which SQLite does by itself. What belongs to a project goes with it.

-- How many projects an account has, so that nobody has to count. Without any it has no row.
CREATE TABLE project_accounts (
    account TEXT PRIMARY KEY CHECK (account <> ''),
    projects INTEGER NOT NULL CHECK (projects > 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE projects (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL CHECK (account <> ''),
    slug TEXT NOT NULL,
    name TEXT NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    published_version INTEGER,
    published_revision INTEGER,
    next_version INTEGER NOT NULL,
    -- How much is in it.
    blocks INTEGER NOT NULL,
    block_bytes INTEGER NOT NULL,
    types INTEGER NOT NULL,
    assets INTEGER NOT NULL,
    asset_bytes INTEGER NOT NULL,
    versions INTEGER NOT NULL,
    version_bytes INTEGER NOT NULL DEFAULT 0,
    mentions INTEGER NOT NULL DEFAULT 0,
    description TEXT NOT NULL,
    metadata TEXT NOT NULL,
    UNIQUE (account, slug),
    CHECK ((published_version IS NULL) = (published_revision IS NULL))
) STRICT;

CREATE INDEX projects_by_time ON projects (account, created, id);
CREATE INDEX projects_by_id ON projects (account, id);

-- Apart from the projects, whose rows are read at every turn: it may be long.
CREATE TABLE project_designs (
    project TEXT PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
    document TEXT NOT NULL
) STRICT;

CREATE TABLE project_block_types (
    project TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    schema TEXT NOT NULL,
    -- The names of the types that may be inside; any without.
    children TEXT,
    PRIMARY KEY (project, name)
) STRICT;

CREATE TABLE project_blocks (
    project TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    -- Empty for pages, so that one index finds them as it finds others.
    parent TEXT NOT NULL,
    position TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- The SHA-256 of the path, if it is a page: a path may be long.
    path BLOB CHECK (length(path) = 32),
    props TEXT NOT NULL,
    PRIMARY KEY (project, id)
) STRICT;

CREATE INDEX project_blocks_by_place ON project_blocks (project, parent, position, id);
CREATE INDEX project_blocks_by_kind ON project_blocks (project, kind, id);
CREATE UNIQUE INDEX project_blocks_by_path ON project_blocks (project, path) WHERE path IS NOT NULL;

-- Which blocks name an asset, be it there or not.
CREATE TABLE project_block_assets (
    project TEXT NOT NULL,
    asset TEXT NOT NULL,
    block TEXT NOT NULL,
    PRIMARY KEY (project, asset, block),
    FOREIGN KEY (project, block) REFERENCES project_blocks (project, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX project_block_assets_by_block ON project_block_assets (project, block);

CREATE TABLE project_assets (
    project TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    content_type TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    created INTEGER NOT NULL,
    alt TEXT NOT NULL,
    PRIMARY KEY (project, id)
) STRICT;

CREATE INDEX project_assets_by_time ON project_assets (project, created, id);
CREATE INDEX project_assets_by_digest ON project_assets (project, digest);

-- Kept as long as an asset or a version of the project names the digest.
CREATE TABLE project_bytes (
    project TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    content BLOB NOT NULL,
    PRIMARY KEY (project, digest)
) STRICT;

CREATE TABLE project_versions (
    project TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    note TEXT NOT NULL,
    created INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    blocks INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    -- The last, because it is long: what stands before it is read without it.
    content TEXT NOT NULL,
    PRIMARY KEY (project, number)
) STRICT;

-- Which digests the assets of a version have.
CREATE TABLE project_version_assets (
    project TEXT NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    version INTEGER NOT NULL,
    PRIMARY KEY (project, digest, version),
    FOREIGN KEY (project, version) REFERENCES project_versions (project, number) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX project_version_assets_by_version ON project_version_assets (project, version);
