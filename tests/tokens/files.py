"""The design systems that are tried.

`errors` are mistakes of the files by DTCG 2025.10, which the server has to tell, all of them and no others; `why` says what
they are. All of these come back from an export as they were. `refused` are the words of a refusal, where it is right.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    package: str
    form: str  # json, resolver or css
    files: list  # Several are put together in this order.
    themes: dict = field(default_factory=dict)  # Files that take turns, by mode; the first one goes without.
    tokens: int = 0  # How many a stylesheet has; those of other files can be counted.
    errors: int = 0
    refused: str = ""
    why: str = ""

    @property
    def name(self):
        more = len(self.files) + len(self.themes) - 1
        return f"{self.package}/{self.files[-1]}{f' and {more} more' if more else ''}"


def example(name, errors=0, why=""):
    return Case("dtcg-examples", "resolver", [f"{name}.resolver.json"], errors=errors, why=why)


# The format as it is, in several files with modes, and in one.
SETTLED = [
    example("adobe-spectrum", 188, "154 of a type `string`; short `hex`; a length in dp"),
    example("apple-hig", 39, "no type without a mode; letter spacing in em; a set of fonts that is not among its sources"),
    example("figma-sds", 19, "letter spacing in em"),
    example("github-primer", 57, "35 tokens with an `alpha` beside `$value`; typography and transitions that lack parts"),
    example("ibm-carbon", 10, "short `hex`; a length in percent"),
    example("microsoft-fluent", 45, "short `hex`; typography with properties of browsers"),
    example("shopify-polaris"),
    Case("open-props", "resolver", ["open-props.resolver.json"], errors=8, why="`hex` of three and four digits"),
]

# Before it was settled, and exports of Figma.
DRAFTS = [
    Case(
        "open-props",
        "json",
        ["open-props.tokens.json"],
        errors=135,
        why="CSS in values, without a type, or that no type has: var(), clamp(), linear(), ch",
    ),
    Case(
        "@shopware-ag/meteor-tokens",
        "json",
        ["dictionaries/foundation/primitives.tokens.json"],
        {name: f"dictionaries/administration/{name}.tokens.json" for name in ("light", "dark")},
        errors=78,
        why="types of Figma: `float`, `string`",
    ),
    Case(
        "@sb1/ffe-core",
        "json",
        ["tokens/01 Primitive.value.json", "tokens/03 Context.Default.json"],
        {name: f"tokens/02 Semantic.{name}.json" for name in ("Light", "Dark")},
    ),
    Case(
        "@sb1/ffe-core",
        "json",
        ["tokens/02 Semantic.Dark.json"],
        errors=313,
        why="every alias leads to another file, which is left out on purpose",
    ),
]

# Style Dictionary: what people write, and what it makes of it.
STYLE_DICTIONARY = [
    Case(
        "open-props",
        "json",
        ["open-props.style-dictionary-tokens.json"],
        errors=127,
        why="a type `other`; CSS that no type has; references inside of texts",
    ),
    Case("@sproutsocial/seeds-color", "json", ["tokens.json"]),
    Case("@baloise/ds-tokens", "json", ["dist/figma/color.json"], errors=1, why="an alias of a colour that is not there"),
    Case("@baloise/ds-tokens", "json", ["dist/figma/size.json"], errors=1, why="a length in percent"),
    Case("@wmde/wikit-tokens", "json", ["dist/index.json"], errors=175, why="words without a type"),
    Case("@momentum-design/tokens", "json", ["dist/json/core/complete.json"]),
    Case(
        "@momentum-design/tokens",
        "json",
        ["dist/json/theme/webex/dark-stable.json"],
        errors=26,
        why="gradients of type color",
    ),
    Case(
        "@momentum-design/tokens",
        "json",
        ["dist/json/typography/complete.json"],
        errors=64,
        why="types `textCase` and `textDecoration`",
    ),
    Case(
        "@rhds/tokens",
        "json",
        ["json/rhds.tokens.json"],
        errors=235,
        why="`light-dark()` and bare channels as colours; media queries",
    ),
    Case(
        "@rei/cdr-tokens",
        "json",
        ["dist/docsite/figma/figma.json"],
        errors=836,
        why="aliases that begin beneath the group `options`; texts for groups; a type `clamp`",
    ),
    Case("@primer/primitives", "json", [f"dist/docs/base/{name}/{name}.json" for name in ("size", "motion", "typography")]),
    Case(
        "@primer/primitives",
        "json",
        ["dist/styleLint/functional/typography/typography.json"],
        errors=22,
        why="typography as the text of a shorthand; two sizes for one",
    ),
    Case(
        "@primer/primitives",
        "json",
        ["dist/styleLint/functional/themes/light.json"],
        refused="the limit is 1048576; split it",
        why="959 tokens and four times as much about their making, more than 1 MiB without spaces",
    ),
]

# Tokens Studio, Theo, and forms of a house.
OTHERS = [
    Case(
        "open-props",
        "json",
        ["open-props.figma-tokens.sync.json"],
        errors=184,
        why="a type `other`; CSS that no type has",
    ),
    Case(
        "@cdssnc/gcds-tokens",
        "json",
        ["build/figma/figma.tokens.json"],
        errors=171,
        why="several lengths in one, shadows of type color, percent; a type `other`",
    ),
    Case(
        "@twilio-paste/design-tokens",
        "json",
        ["dist/tokens.raw.json"],
        errors=23,
        why="line heights in rem of type number; names instead of aliases; percent",
    ),
    Case(
        "@adobe/spectrum-tokens",
        "json",
        ["src/layout.json"],
        errors=529,
        why="`sets` of a house, with texts beside their tokens",
    ),
    Case(
        "@adobe/spectrum-tokens",
        "json",
        ["src/color-palette.json"],
        errors=602,
        why="`sets` of a house, with texts beside their tokens",
    ),
    Case(
        "@cloudscape-design/design-tokens",
        "json",
        ["index-visual-refresh.json"],
        errors=5085,
        why="no types; modes as an object in `$value`",
    ),
]

STYLESHEETS = [
    Case("open-props", "css", ["open-props.min.css"], tokens=430),
    Case("@radix-ui/colors", "css", ["blue.css", "blue-dark.css", "blue-alpha.css", "blue-dark-alpha.css"], tokens=24),
    Case("@dynatrace/strato-design-tokens", "css", ["styles/variables.css"], tokens=782),
    Case("@equinor/eds-tokens", "css", ["build/css/variables.min.css"], tokens=497, errors=1, why="a font weight of 0px"),
    Case("@navikt/ds-tokens", "css", ["dist/tokens.css"], tokens=453),
    Case("@primer/primitives", "css", ["dist/internalCss/light.css"], tokens=1218),
    Case("@rhds/tokens", "css", ["css/global.css", "css/default-theme.css"], tokens=363),
    Case("@sb1/ffe-core", "css", ["css/ffe.css"], tokens=256),
    Case("@sbb-esta/lyne-design-tokens", "css", ["dist/css/sbb-variables.css"], tokens=333),
    Case("@spectrum-css/tokens", "css", ["dist/css/index.css"], tokens=1039),
    Case("hds-design-tokens", "css", ["lib/all.css"], tokens=122),
]

CASES = [*SETTLED, *DRAFTS, *STYLE_DICTIONARY, *OTHERS, *STYLESHEETS]
