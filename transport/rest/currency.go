package rest

import "golang.org/x/text/currency"

// currency reads an ISO 4217 code, in capital letters. What is no money anybody could pay with is refused before it can
// reach the log: a show would be sold in it for good.
func (o *object) currency(field string) string {
	text := o.text(field, TextCharsMax)
	if o.err == nil && !isCurrency(text) {
		o.fail(field, "must be a currency's code in capital letters (ISO 4217), for example INR")
	}
	return text
}

// isCurrency reports whether ISO 4217 has, or had, a currency of this code.
func isCurrency(code string) bool {
	switch code {
	case "XXX", "XTS": // no currency, and one for testing
		return false
	case "MRU", "UYW", "VES", "VED", "SLE", "ZWG", "XAD", "XCG": // came into ISO 4217 after the package's table (2017)
		return true
	}
	unit, err := currency.ParseISO(code)
	return err == nil && unit.String() == code // it takes small letters too
}
