package rest

import (
	"strconv"
	"unicode/utf8"

	"github.com/houseful/houseful/fsm"
)

// JSON is written by appending: no reflection, no intermediate values, no allocation per seat.

const hexDigits = "0123456789abcdef"

// plain says which ASCII bytes stand for themselves in a JSON string. Beside what JSON demands, <, > and & are
// escaped, so that an answer pasted into a page cannot end a script.
var plain = func() (table [utf8.RuneSelf]bool) {
	for c := range table {
		table[c] = c >= 0x20 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' && c != 0x7f
	}
	return table
}()

// appendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD; U+2028 and U+2029, which end
// lines in old JavaScript, are escaped.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if !plain[c] {
				dst = appendEscaped(append(dst, s[start:i]...), c)
				start = i + 1
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, s[start:i]...), `\ufffd`...)
			start = i + size
		case r == '\u2028' || r == '\u2029':
			dst = append(append(dst, s[start:i]...), `\u202`...)
			dst = append(dst, hexDigits[r&0xf])
			start = i + size
		}
		i += size
	}
	return append(append(dst, s[start:]...), '"')
}

func appendEscaped(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

// appendStringOrNull appends s, or null for an empty one.
func appendStringOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return appendString(dst, s)
}

func appendInt(dst []byte, v int64) []byte { return strconv.AppendInt(dst, v, 10) }

func appendUint(dst []byte, v uint64) []byte { return strconv.AppendUint(dst, v, 10) }

func appendBool(dst []byte, v bool) []byte { return strconv.AppendBool(dst, v) }

const (
	msPerDay = 24 * 3600 * 1000
	// daysToEpoch is the number of days from 0000-03-01 to 1970-01-01; counting years from March puts leap days last.
	daysToEpoch = 719_468
	daysPerEra  = 146_097 // 400 years
)

// appendTime appends t as a JSON string: RFC 3339, UTC, milliseconds. Before 0000-03-01 and after the
// year 9999 it is null.
func appendTime(dst []byte, t fsm.Time) []byte {
	ms := int64(t)
	days, inDay := ms/msPerDay, ms%msPerDay
	if inDay < 0 {
		days, inDay = days-1, inDay+msPerDay
	}
	days += daysToEpoch
	if days < 0 || days > 3_652_364 {
		return append(dst, "null"...)
	}
	era, dayOfEra := days/daysPerEra, days%daysPerEra
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36_524 - dayOfEra/146_096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	monthFromMarch := (5*dayOfYear + 2) / 153
	day := dayOfYear - (153*monthFromMarch+2)/5 + 1
	month, year := monthFromMarch+3, yearOfEra+era*400
	if month > 12 {
		month, year = month-12, year+1
	}
	seconds := inDay / 1000
	dst = append(dst, '"')
	dst = append(appendDigits(dst, year, 4), '-')
	dst = append(appendDigits(dst, month, 2), '-')
	dst = append(appendDigits(dst, day, 2), 'T')
	dst = append(appendDigits(dst, seconds/3600, 2), ':')
	dst = append(appendDigits(dst, seconds/60%60, 2), ':')
	dst = append(appendDigits(dst, seconds%60, 2), '.')
	return append(appendDigits(dst, inDay%1000, 3), 'Z', '"')
}

func appendDigits(dst []byte, v int64, width int) []byte {
	for divisor := [...]int64{0, 1, 10, 100, 1000}[width]; divisor > 0; divisor /= 10 {
		dst = append(dst, byte('0'+v/divisor%10))
	}
	return dst
}

// appendCounts appends a show's census.
func appendCounts(dst []byte, c fsm.Counts) []byte {
	dst = appendUint(append(dst, `{"available":`...), uint64(c.Available))
	dst = appendUint(append(dst, `,"held":`...), uint64(c.Held))
	dst = appendUint(append(dst, `,"booked":`...), uint64(c.Booked))
	dst = appendUint(append(dst, `,"blocked":`...), uint64(c.Blocked))
	dst = appendUint(append(dst, `,"total":`...), uint64(c.Total))
	return append(dst, '}')
}
