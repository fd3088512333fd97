"""Design-token files, read by somebody else: what the product is compared with knows nothing of the product.

Only what the check needs is here: which tokens a file has, where their aliases lead, and what they come to.
"""

import copy
import re

ALIAS = re.compile(r"\{([^{}]+)\}")
HEX = re.compile(r"#([0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})")
MEASURE = re.compile(r"(-?\d*\.?\d+)(px|rem|ms|s)")
PROPERTY = re.compile(r"(?:^|[{};])\s*--([\w-]+)\s*:", re.ASCII)


def is_token(node):
    """A token of the format has `$value`; an older one `value`, which is no token of that name in a group."""
    if "$value" in node or not isinstance(node.get("value", {}), dict):
        return True
    value = node.get("value", {"$value": None})
    nested = "$value" in value or "value" in value and "unit" not in value
    return isinstance(node.get("type"), str) and not nested


def value_of(token):
    return token.get("$value", token.get("value"))


def inside(node):
    """The groups and tokens of a group."""
    for name, child in node.items():
        if isinstance(child, dict) and (name == "$root" or not name.startswith("$")):
            yield name, child


def tokens(node, path=()):
    """Every token by its path, in the order of the file."""
    found = {}
    for name, child in inside(node):
        if is_token(child):
            found[".".join((*path, name))] = child
        else:
            found |= tokens(child, (*path, name))
    return found


def merge(into, other):
    """Puts files together as design tools do: groups join, a later token takes the place of an earlier one."""
    for name, value in other.items():
        mine = into.get(name)
        joins = isinstance(value, dict) and isinstance(mine, dict) and not name.startswith("$")
        if joins and not is_token(value) and not is_token(mine):
            merge(mine, value)
        else:
            into[name] = copy.deepcopy(value)
    return into


def values(all_tokens):
    """What each token comes to. One whose aliases lead nowhere, or in a circle, is missing."""
    done = {}

    def follow(value, way):
        if isinstance(value, str) and "{" in value:
            alias = ALIAS.fullmatch(value.strip())
            if not alias:
                raise LookupError(value)
            return token(alias[1].strip(), way)
        if isinstance(value, list):
            return [follow(item, way) for item in value]
        if isinstance(value, dict):
            return {name: follow(item, way) for name, item in value.items()}
        return value

    def token(path, way):
        # Style Dictionary once wanted `{a.b.value}`.
        if path not in all_tokens and path.endswith(".value"):
            path = path.removesuffix(".value")
        if path in way or path not in all_tokens:
            raise LookupError(path)
        if path not in done:
            done[path] = follow(value_of(all_tokens[path]), {*way, path})
        return done[path]

    found = {}
    for path in all_tokens:
        try:
            found[path] = token(path, set())
        except LookupError:
            pass
    return found


def contexts(resolver):
    """What a resolver file says: its tokens without a mode, and those of every mode."""
    modifiers = {}
    for step in resolver["resolutionOrder"]:
        name, step = step_of(resolver, step)
        if "contexts" in step:
            modifiers[name] = step
    usual = {name: step.get("default", next(iter(step["contexts"]))) for name, step in modifiers.items()}
    modes = {}
    for name, step in modifiers.items():
        for context in step["contexts"]:
            if context != usual[name]:
                mode = context if len(modifiers) == 1 else f"{name}-{context}"
                modes[mode] = put_together(resolver, usual | {name: context})
    return put_together(resolver, usual), modes


def step_of(resolver, step):
    if "$ref" not in step:
        return step["name"], step
    _, kind, name = step["$ref"].split("/")
    return name, resolver[kind][name]


def put_together(resolver, inputs):
    whole = {}
    for step in resolver["resolutionOrder"]:
        name, step = step_of(resolver, step)
        for source in step["contexts"][inputs[name]] if "contexts" in step else step["sources"]:
            merge(whole, source)
    return whole


def agrees(written, found):
    """Whether a value that came out is the one that was written, in its present form or in an older one."""
    if isinstance(written, str):
        text = written.strip()
        if HEX.fullmatch(text):
            return isinstance(found, dict) and same_color(text, found) or found == written
        measure = MEASURE.fullmatch(text)
        if measure and isinstance(found, dict):
            return found == {"value": float(measure[1]), "unit": measure[2]}
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            return not is_number(text) or float(text) == found
        return found == written or not isinstance(found, str)
    if isinstance(written, list):
        both = isinstance(found, list) and len(found) == len(written)
        return both and all(agrees(*pair) for pair in zip(written, found))
    if isinstance(written, dict):
        # Older shadows have other names for their parts.
        return isinstance(found, dict) and all(agrees(written[name], found[name]) for name in written if name in found)
    return written == found or isinstance(found, dict) and found.get("value") == written


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def same_color(text, found):
    digits = text[1:]
    if len(digits) < 6:
        digits = "".join(digit * 2 for digit in digits)
    red_green_blue = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    alpha = int(digits[6:], 16) / 255 if len(digits) == 8 else 1
    near = zip([*red_green_blue, alpha], [*found["components"], found.get("alpha", 1)])
    return found["colorSpace"] == "srgb" and all(abs(one - other) < 0.003 for one, other in near)


def properties(css):
    """The custom properties that a sheet sets, wherever."""
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    css = re.sub(r"\"[^\"\n]*\"|'[^'\n]*'", "''", css)
    return set(PROPERTY.findall(css))


def hex_values(css):
    """The colours that a sheet gives to each custom property, where it gives it nothing but hexadecimal ones."""
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    found = {}
    for name, value in re.findall(r"--([\w-]+)\s*:\s*([^;}]+)", css):
        found.setdefault(name, []).append(value.strip())
    return {name: all_of_it for name, all_of_it in found.items() if all(map(HEX.fullmatch, all_of_it))}


def broken_css(css):
    """What is wrong with a sheet of custom properties, if anything is."""
    bare = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    bare = re.sub(r"\"(?:[^\"\\\n]|\\.)*\"", "''", bare)
    for one, other in ("{}", "()", "[]"):
        if bare.count(one) != bare.count(other):
            return f"{bare.count(one)} {one} and {bare.count(other)} {other}"
    for line in bare.splitlines():
        line = line.strip()
        known = not line or line == "}" or line.endswith("{") or re.fullmatch(r"--[^\s:]+: [^;]+;", line)
        if not known:
            return f"a line that declares nothing: {line}"
    return None
