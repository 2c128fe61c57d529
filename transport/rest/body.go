package rest

import (
	"strings"
	"time"
	"unsafe"

	"github.com/valyala/fastjson"

	"github.com/houseful/houseful/fsm"
)

// object reads one JSON object of a request against the list of its fields. The first thing wrong with it is kept in
// err, later reads give zero values, so a handler reads everything and checks once. A null field counts as absent.
type object struct {
	prefix string // of field names in errors: "", "contact.", "rows[2]."
	name   string // of a child within prefix, joined to it only when an error needs it
	fields []string
	values [bodyFieldsMax]*fastjson.Value
	err    *apiError
}

// readObject reads a value that must be an object with no fields but those listed, none of them twice.
func readObject(value *fastjson.Value, prefix string, fields []string) (o object) {
	o.read(value, prefix, "", fields)
	return o
}

func (o *object) read(value *fastjson.Value, prefix, name string, fields []string) {
	o.prefix, o.name, o.fields = prefix, name, fields
	if len(fields) > bodyFieldsMax {
		panic("rest: more fields than bodyFieldsMax")
	}
	if value == nil || value.Type() != fastjson.TypeObject {
		o.fail("", "must be an object")
		return
	}
	members, _ := value.Object()
	seen := uint32(0)
	members.Visit(func(key []byte, v *fastjson.Value) {
		i := o.index(key)
		switch {
		case i < 0:
			o.fail(string(key), "is not a field of this request")
		case seen&(1<<i) != 0:
			o.fail(fields[i], "appears twice")
		default:
			seen |= 1 << i
			if v.Type() != fastjson.TypeNull {
				o.values[i] = v
			}
		}
	})
}

func (o *object) index(key []byte) int {
	for i, field := range o.fields {
		if string(key) == field {
			return i
		}
	}
	return -1
}

// fail records what is wrong with a field, unless something already is. An empty field is the object itself.
func (o *object) fail(field, format string, args ...any) {
	if o.err != nil {
		return
	}
	name := o.path() + field
	if field == "" {
		if name = strings.TrimSuffix(name, "."); name == "" {
			name = "body"
		}
	}
	o.err = invalid(clip(name), format, args...)
}

// path is what stands before the object's fields in errors.
func (o *object) path() string {
	if o.name == "" {
		return o.prefix
	}
	return o.prefix + o.name + "."
}

// clip shortens a client's text for an error message.
func clip(text string) string {
	const charsMax = 80
	if len(text) <= charsMax {
		return text
	}
	return strings.ToValidUTF8(text[:charsMax], "") + "…"
}

// get gives a field's value, nil when it is absent or null.
func (o *object) get(field string) *fastjson.Value {
	for i, name := range o.fields {
		if name == field {
			return o.values[i]
		}
	}
	panic("rest: " + field + " is not a field of this object")
}

// has reports whether the field is there and not null.
func (o *object) has(field string) bool { return o.get(field) != nil }

// need gives a field's value, which must be there.
func (o *object) need(field string) *fastjson.Value {
	value := o.get(field)
	if value == nil {
		o.fail(field, "is needed")
	}
	return value
}

// view gives a string's text without a copy: it is valid until the call ends, and must not be kept.
func view(value *fastjson.Value) (string, bool) {
	if value.Type() != fastjson.TypeString {
		return "", false
	}
	text, _ := value.StringBytes()
	return unsafe.String(unsafe.SliceData(text), len(text)), true
}

// idView reads an id that must be there, without a copy (see view).
func (o *object) idView(field string) string {
	value := o.need(field)
	if value == nil {
		return ""
	}
	text, ok := view(value)
	if !ok {
		if text, ok = wholeNumber(value); !ok {
			o.fail(field, "must be a string or a whole number")
			return ""
		}
	}
	if !validID(text) {
		o.fail(field, "must be 1 to %d characters out of A-Z a-z 0-9 . _ ~ -", IDCharsMax)
		return ""
	}
	return text
}

// id reads an id that must be there.
func (o *object) id(field string) string { return strings.Clone(o.idView(field)) }

// textView reads a text without a copy (see view); "" when it is absent.
func (o *object) textView(field string, bytesMax int) string {
	value := o.get(field)
	if value == nil {
		return ""
	}
	text, ok := view(value)
	switch {
	case !ok:
		o.fail(field, "must be a string")
	case len(text) > bytesMax:
		o.fail(field, "is longer than %d bytes", bytesMax)
	default:
		return text
	}
	return ""
}

// text reads a text that must be there and not be empty.
func (o *object) text(field string, bytesMax int) string {
	if o.need(field) == nil {
		return ""
	}
	text := strings.Clone(o.textView(field, bytesMax))
	if text == "" {
		o.fail(field, "must not be empty")
	}
	return text
}

// optionalText reads a text; "" when it is absent.
func (o *object) optionalText(field string, bytesMax int) string {
	return strings.Clone(o.textView(field, bytesMax))
}

// integer reads a whole number that must be there, within bounds.
func (o *object) integer(field string, least, most int64) int64 {
	value := o.need(field)
	if value == nil {
		return 0
	}
	v, ok := integerOf(value)
	if !ok {
		o.fail(field, "must be a whole number")
	} else if v < least || v > most {
		o.fail(field, "must be %d to %d", least, most)
	}
	return v
}

// optionalInteger reads a whole number within bounds, or gives fallback when it is absent.
func (o *object) optionalInteger(field string, fallback, least, most int64) int64 {
	if !o.has(field) {
		return fallback
	}
	return o.integer(field, least, most)
}

// time reads a time that must be there: RFC 3339 with a zone, in the years 1970 to 9999.
func (o *object) time(field string) fsm.Time {
	if o.need(field) == nil {
		return 0
	}
	const bytesMax = 64
	t, err := time.Parse(time.RFC3339Nano, o.textView(field, bytesMax))
	if err != nil || t.Unix() < 0 || t.UTC().Year() > 9999 {
		o.fail(field, "must be a time in RFC 3339 with its zone, for example 2026-12-01T18:00:00+05:30")
		return 0
	}
	return fsm.Time(t.UnixMilli())
}

// optionalTime reads a time; 0 when it is absent.
func (o *object) optionalTime(field string) fsm.Time {
	if !o.has(field) {
		return 0
	}
	return o.time(field)
}

// list reads an array of at most most values; nil when it is absent.
func (o *object) list(field string, most int) []*fastjson.Value {
	value := o.get(field)
	if value == nil {
		return nil
	}
	values, err := value.Array()
	switch {
	case err != nil:
		o.fail(field, "must be a list")
	case len(values) > most:
		o.fail(field, "has more than %d entries", most)
	default:
		return values
	}
	return nil
}

// child reads an object within this one; ok is false when it is absent. What is wrong with it is wrong with both.
func (o *object) child(field string, fields []string) (child object, ok bool) {
	value := o.get(field)
	if value == nil {
		return child, false
	}
	child.read(value, o.path(), field, fields)
	o.adopt(&child)
	return child, true
}

// adopt takes over what is wrong with a child, once the child has been read.
func (o *object) adopt(child *object) {
	if o.err == nil {
		o.err = child.err
	}
}

// entries visits the members of an object whose keys are the client's own, in order; none may come twice.
func (o *object) entries(field string, most int, visit func(key string, value *fastjson.Value)) {
	value := o.get(field)
	if value == nil {
		return
	}
	members, err := value.Object()
	if err != nil {
		o.fail(field, "must be an object")
		return
	}
	if members.Len() > most {
		o.fail(field, "has more than %d entries", most)
		return
	}
	seen := make(map[string]bool, members.Len())
	members.Visit(func(key []byte, v *fastjson.Value) {
		name := string(key)
		if seen[name] {
			o.fail(field+"."+name, "appears twice")
		}
		seen[name] = true
		visit(name, v)
	})
}

// integerOf gives a JSON number that is written as a whole one, without fraction or exponent.
func integerOf(value *fastjson.Value) (int64, bool) {
	if value.Type() != fastjson.TypeNumber {
		return 0, false
	}
	v, err := value.Int64()
	return v, err == nil
}

// wholeNumber gives the decimal text of a JSON integer.
func wholeNumber(value *fastjson.Value) (string, bool) {
	if value.Type() != fastjson.TypeNumber {
		return "", false
	}
	text := string(value.MarshalTo(nil))
	return text, !strings.ContainsAny(text, ".eE")
}

// validID reports whether text may be an id.
func validID[T string | []byte](text T) bool {
	if len(text) == 0 || len(text) > IDCharsMax {
		return false
	}
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '~', c == '-':
		default:
			return false
		}
	}
	return true
}
