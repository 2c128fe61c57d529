package meta

import (
	"errors"
	"strconv"
	"strings"

	"github.com/houseful/houseful/fsm/wire"
)

// ErrSpans says that a text is not a list of seat numbers.
var ErrSpans = errors.New(`seats are numbers and ranges such as "1-4,5-8"`)

// ParseSpans reads a list of seat numbers as the API writes it: ranges and single numbers between commas. Whether
// they ascend is for fsm.NewLayout to say. The error is ErrSpans.
func ParseSpans(text string) ([]*wire.Span, error) {
	var spans []*wire.Span
	for part := range strings.SplitSeq(text, ",") {
		first, last, ranged := strings.Cut(strings.TrimSpace(part), "-")
		from, err := parseNumber(first)
		if err != nil {
			return nil, err
		}
		to := from
		if ranged {
			if to, err = parseNumber(last); err != nil {
				return nil, err
			}
		}
		spans = append(spans, &wire.Span{First: from, Last: to})
	}
	return spans, nil
}

func parseNumber(text string) (uint32, error) {
	if text = strings.TrimSpace(text); text == "" || text[0] < '0' || text[0] > '9' {
		return 0, ErrSpans // no sign
	}
	number, err := strconv.ParseUint(text, 10, 32)
	if err != nil || number == 0 {
		return 0, ErrSpans
	}
	return uint32(number), nil
}

// AppendSpans writes what ParseSpans reads.
func AppendSpans(dst []byte, spans []*wire.Span) []byte {
	for i, span := range spans {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendSpan(dst, span)
	}
	return dst
}

// AppendSpan writes one range, or a number alone.
func AppendSpan(dst []byte, span *wire.Span) []byte {
	dst = strconv.AppendUint(dst, uint64(span.First), 10)
	if span.Last != span.First {
		dst = strconv.AppendUint(append(dst, '-'), uint64(span.Last), 10)
	}
	return dst
}
