package rest

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/valyala/fastjson"
)

// checkJSON checks a body before it is parsed: UTF-8, strict JSON, bounded depth, no half of a surrogate pair. (The
// parser itself is lenient, and would let these through.)
func checkJSON(body []byte) *apiError {
	if len(body) == 0 {
		return invalid("body", "is empty; a JSON object is needed")
	}
	if !utf8.Valid(body) {
		return invalid("body", "is not UTF-8")
	}
	if depthOf(body) > BodyDepthMax {
		return invalid("body", "nests deeper than %d", BodyDepthMax)
	}
	if err := fastjson.ValidateBytes(body); err != nil {
		return invalid("body", "is not valid JSON: %s", clip(jsonProblem(err)))
	}
	if bytes.Contains(body, []byte(`\u`)) && hasLoneSurrogate(body) {
		return invalid("body", "has half of a surrogate pair, which is no character")
	}
	return nil
}

// jsonProblem gives the innermost reason of a parser's error.
func jsonProblem(err error) string {
	text, _, _ := strings.Cut(err.Error(), "; unparsed tail")
	if at := strings.LastIndex(text, ": "); at >= 0 {
		text = text[at+2:]
	}
	return text
}

// depthOf counts how deep brackets nest outside of strings, or gives a bound that is within BodyDepthMax.
func depthOf(body []byte) int {
	if brackets := bytes.Count(body, []byte("{")) + bytes.Count(body, []byte("[")); brackets <= BodyDepthMax {
		return brackets // no deeper than that, which is all the caller asks
	}
	depth, deepest, inString := 0, 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > deepest {
				deepest = depth
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// hasLoneSurrogate looks for \uD800–\uDFFF escapes that are not a pair. The body is valid JSON.
func hasLoneSurrogate(body []byte) bool {
	for i := 0; i+5 < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		if body[i+1] != 'u' {
			i++
			continue
		}
		unit := escapedUnit(body[i:])
		if unit >= 0xDC00 && unit < 0xE000 {
			return true
		}
		if unit >= 0xD800 && unit < 0xDC00 {
			next := escapedUnit(body[i+6:])
			if next < 0xDC00 || next >= 0xE000 {
				return true
			}
			i += 6
		}
		i += 5
	}
	return false
}

// escapedUnit reads \uXXXX at the start of b; 0 when there is none.
func escapedUnit(b []byte) uint64 {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return unit
}
