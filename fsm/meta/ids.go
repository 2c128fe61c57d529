package meta

import "unicode/utf8"

// Date is a local date: 20261201 is the first of December 2026.
type Date uint32

// ValidID reports whether id is 1 to IDCharsMax characters of A-Z a-z 0-9 . _ ~ -.
func ValidID(id string) bool {
	if len(id) < 1 || len(id) > IDCharsMax {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case c == '.', c == '_', c == '~', c == '-':
		default:
			return false
		}
	}
	return true
}

// validText reports whether text is UTF-8 of at most bytesMax bytes without control characters.
func validText(text string, bytesMax int) bool {
	if len(text) > bytesMax || !utf8.ValidString(text) {
		return false
	}
	for _, c := range []byte(text) {
		if c < 0x20 || c == 0x7f {
			return false
		}
	}
	return true
}

// valid reports whether d may be a date. It does not know how long months are: dates come from a calendar.
func (d Date) valid() bool {
	year, month, day := d/10_000, d/100%100, d%100
	return year >= 1970 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 && day <= 31
}
