"""C text as tokens and functions: enough to find a place by its words."""
import re

TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
    r"""|(?P<word>\w+)|(?P<sign><<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\S)""",
    re.DOTALL)

# A function's name, before the "{" that stands alone in the first column.
HEAD = re.compile(r"^(?!typedef|(?:struct|enum) \w+ \{|enum \{|#)[\w*][^;{}#]*?\b(\w+)\([^;{}]*\)\n\{\n", re.MULTILINE)

OUTSIDE = "-"  # the "function" of what stands outside of all


class Token:
    def __init__(self, match):
        self.text = match.group()
        self.start = match.start()
        self.end = match.end()

    def __repr__(self):
        return self.text


def tokens(text, start=0, end=None):
    end = len(text) if end is None else end
    return [Token(match) for match in TOKEN.finditer(text, start, end)
            if match.lastgroup != "comment"]


def functions(text):
    """[(name, start of the body, its end)]: the body is what stands between the braces."""
    found = []
    for match in HEAD.finditer(text):
        end = text.find("\n}\n", match.end() - 1)
        found.append((match.group(1), match.end(), end + 1))
    return found


def extent(text, name):
    """[(start, end)] of the function of that name; of all that is outside of functions: OUTSIDE."""
    bodies = functions(text)
    if name != OUTSIDE:
        return [(start, end) for body, start, end in bodies if body == name]
    edges = [0] + [edge for _, start, end in bodies for edge in (start, end)] + [len(text)]
    return list(zip(edges[::2], edges[1::2]))


def find(text, name, wanted):
    """Where these words stand in that function, however they are laid out: [(start, end)]."""
    words = [token.text for token in tokens(wanted)]
    found = []
    for start, end in extent(text, name):
        all_of_it = tokens(text, start, end)
        for i in range(len(all_of_it) - len(words) + 1):
            if [token.text for token in all_of_it[i:i + len(words)]] == words:
                found.append((all_of_it[i].start, all_of_it[i + len(words) - 1].end))
    return found
