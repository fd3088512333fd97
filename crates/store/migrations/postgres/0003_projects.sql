-- Names are compared as bytes. JSON, design systems and versions are text, not jsonb: they must come back equal.

-- How many projects an account has, so that nobody has to count. Whoever makes or deletes one or changes a slug holds the row
-- until they are done; without any project it is gone by then.
CREATE TABLE project_accounts (
    account text COLLATE "C" PRIMARY KEY CHECK (account <> ''),
    projects bigint NOT NULL CHECK (projects >= 0)
) WITH (fillfactor = 60);

-- Every write to anything of a project also writes its row here: one more revision, and how much there is in it. No index has
-- a column that is written each time, so that no index learns of it (a HOT update); `fillfactor` keeps room for that.
CREATE TABLE projects (
    id text COLLATE "C" PRIMARY KEY,
    account text COLLATE "C" NOT NULL,
    name text NOT NULL,
    slug text COLLATE "C" NOT NULL,
    description text NOT NULL,
    metadata text NOT NULL,
    created timestamptz NOT NULL,
    updated timestamptz NOT NULL,
    revision bigint NOT NULL,
    published_version bigint,
    published_revision bigint,
    next_version bigint NOT NULL,
    blocks bigint NOT NULL,
    block_bytes bigint NOT NULL,
    types bigint NOT NULL,
    assets bigint NOT NULL,
    asset_bytes bigint NOT NULL,
    versions bigint NOT NULL,
    version_bytes bigint NOT NULL DEFAULT 0,
    mentions bigint NOT NULL DEFAULT 0,
    UNIQUE (account, slug),
    -- What everything else belongs to. It also completes ids that somebody begins to type.
    UNIQUE (account, id),
    CHECK ((published_version IS NULL) = (published_revision IS NULL))
) WITH (fillfactor = 60);

CREATE INDEX projects_by_time ON projects (account, created, id);

-- The account stands in every table, so that the policies of one need not look into another, and belongs to the project: nobody
-- can put something into the project of somebody else. What a project holds goes with it.

CREATE TABLE project_block_types (
    project text COLLATE "C" NOT NULL,
    account text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    description text NOT NULL,
    schema text NOT NULL,
    -- A list of names as JSON. Nothing: any.
    children text,
    PRIMARY KEY (project, name),
    FOREIGN KEY (account, project) REFERENCES projects (account, id) ON DELETE CASCADE
);

CREATE TABLE project_blocks (
    project text COLLATE "C" NOT NULL,
    account text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    -- Empty for pages: so one index finds what is inside of a block, and the pages.
    parent text COLLATE "C" NOT NULL,
    position text COLLATE "C" NOT NULL,
    props text NOT NULL,
    -- The SHA-256 of the path of a page: paths of drafts may be longer than an index takes.
    path bytea CHECK (length(path) = 32),
    PRIMARY KEY (project, id),
    FOREIGN KEY (account, project) REFERENCES projects (account, id) ON DELETE CASCADE
);

CREATE INDEX project_blocks_by_place ON project_blocks (project, parent, position, id);
CREATE INDEX project_blocks_by_kind ON project_blocks (project, kind, id);
CREATE UNIQUE INDEX project_blocks_by_path ON project_blocks (project, path) WHERE path IS NOT NULL;

-- Which blocks name which assets, be they there or not.
CREATE TABLE project_block_assets (
    project text COLLATE "C" NOT NULL,
    account text COLLATE "C" NOT NULL,
    asset text COLLATE "C" NOT NULL,
    block text COLLATE "C" NOT NULL,
    PRIMARY KEY (project, asset, block),
    FOREIGN KEY (account, project) REFERENCES projects (account, id) ON DELETE CASCADE
);

CREATE INDEX project_block_assets_by_block ON project_block_assets (project, block);

CREATE TABLE project_designs (
    project text COLLATE "C" PRIMARY KEY,
    account text COLLATE "C" NOT NULL,
    document text NOT NULL,
    FOREIGN KEY (account, project) REFERENCES projects (account, id) ON DELETE CASCADE
);

CREATE TABLE project_assets (
    project text COLLATE "C" NOT NULL,
    account text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    content_type text NOT NULL,
    bytes bigint NOT NULL,
    digest bytea NOT NULL CHECK (length(digest) = 32),
    created timestamptz NOT NULL,
    alt text NOT NULL,
    PRIMARY KEY (project, id),
    FOREIGN KEY (account, project) REFERENCES projects (account, id) ON DELETE CASCADE
);

CREATE INDEX project_assets_by_time ON project_assets (project, created, id);
CREATE INDEX project_assets_by_digest ON project_assets (project, digest);

-- Each content once, as long as an asset or a version names it.
CREATE TABLE project_bytes (
    project text COLLATE "C" NOT NULL,
    account text COLLATE "C" NOT NULL,
    digest bytea NOT NULL CHECK (length(digest) = 32),
    content bytea NOT NULL,
    PRIMARY KEY (project, digest),
    FOREIGN KEY (account, project) REFERENCES projects (account, id) ON DELETE CASCADE
);

-- Images and fonts are compressed already.
ALTER TABLE project_bytes ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE TABLE project_versions (
    project text COLLATE "C" NOT NULL,
    account text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    note text NOT NULL,
    created timestamptz NOT NULL,
    revision bigint NOT NULL,
    blocks bigint NOT NULL,
    bytes bigint NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (project, number),
    FOREIGN KEY (account, project) REFERENCES projects (account, id) ON DELETE CASCADE
);

-- Which digests the assets of a version have.
CREATE TABLE project_version_assets (
    project text COLLATE "C" NOT NULL,
    account text COLLATE "C" NOT NULL,
    digest bytea NOT NULL CHECK (length(digest) = 32),
    version bigint NOT NULL,
    PRIMARY KEY (project, digest, version),
    FOREIGN KEY (account, project) REFERENCES projects (account, id) ON DELETE CASCADE
);

CREATE INDEX project_version_assets_by_version ON project_version_assets (project, version);

-- The second wall between accounts, as for keys and sessions: who does not say for whom they ask sees nothing. `SELECT` has the
-- setting read once for a statement, and not for each row.

ALTER TABLE project_accounts ENABLE ROW LEVEL SECURITY;
ALTER TABLE project_accounts FORCE ROW LEVEL SECURITY;
ALTER TABLE projects ENABLE ROW LEVEL SECURITY;
ALTER TABLE projects FORCE ROW LEVEL SECURITY;
ALTER TABLE project_block_types ENABLE ROW LEVEL SECURITY;
ALTER TABLE project_block_types FORCE ROW LEVEL SECURITY;
ALTER TABLE project_blocks ENABLE ROW LEVEL SECURITY;
ALTER TABLE project_blocks FORCE ROW LEVEL SECURITY;
ALTER TABLE project_block_assets ENABLE ROW LEVEL SECURITY;
ALTER TABLE project_block_assets FORCE ROW LEVEL SECURITY;
ALTER TABLE project_designs ENABLE ROW LEVEL SECURITY;
ALTER TABLE project_designs FORCE ROW LEVEL SECURITY;
ALTER TABLE project_assets ENABLE ROW LEVEL SECURITY;
ALTER TABLE project_assets FORCE ROW LEVEL SECURITY;
ALTER TABLE project_bytes ENABLE ROW LEVEL SECURITY;
ALTER TABLE project_bytes FORCE ROW LEVEL SECURITY;
ALTER TABLE project_versions ENABLE ROW LEVEL SECURITY;
ALTER TABLE project_versions FORCE ROW LEVEL SECURITY;
ALTER TABLE project_version_assets ENABLE ROW LEVEL SECURITY;
ALTER TABLE project_version_assets FORCE ROW LEVEL SECURITY;

CREATE POLICY own_tenant ON project_accounts
    USING (account = (SELECT nullif(current_setting('fluxway.tenant', true), '')));
CREATE POLICY own_tenant ON projects
    USING (account = (SELECT nullif(current_setting('fluxway.tenant', true), '')));
CREATE POLICY own_tenant ON project_block_types
    USING (account = (SELECT nullif(current_setting('fluxway.tenant', true), '')));
CREATE POLICY own_tenant ON project_blocks
    USING (account = (SELECT nullif(current_setting('fluxway.tenant', true), '')));
CREATE POLICY own_tenant ON project_block_assets
    USING (account = (SELECT nullif(current_setting('fluxway.tenant', true), '')));
CREATE POLICY own_tenant ON project_designs
    USING (account = (SELECT nullif(current_setting('fluxway.tenant', true), '')));
CREATE POLICY own_tenant ON project_assets
    USING (account = (SELECT nullif(current_setting('fluxway.tenant', true), '')));
CREATE POLICY own_tenant ON project_bytes
    USING (account = (SELECT nullif(current_setting('fluxway.tenant', true), '')));
CREATE POLICY own_tenant ON project_versions
    USING (account = (SELECT nullif(current_setting('fluxway.tenant', true), '')));
CREATE POLICY own_tenant ON project_version_assets
    USING (account = (SELECT nullif(current_setting('fluxway.tenant', true), '')));

-- The owner of the store may know which accounts have projects, and sees nothing of those.
CREATE POLICY operator ON project_accounts FOR SELECT
    USING (current_setting('fluxway.operator', true) = 'on');
