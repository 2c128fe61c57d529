package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
)

// census counts the seats of a show by status (M-33).
type census struct {
	Available int `json:"available"`
	Held      int `json:"held"`
	Booked    int `json:"booked"`
	Blocked   int `json:"blocked"`
	Total     int `json:"total"`
}

func newShowCommand(p process) *cobra.Command {
	command := &cobra.Command{
		Use:   "show",
		Short: "Look at shows",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usageError{fmt.Errorf("say what to show: list, seats or audit")}
		},
	}
	command.AddCommand(newShowListCommand(p), newShowSeatsCommand(p), newShowAuditCommand(p))
	return command
}

// showPath is a path of the API about a show.
func showPath(id, rest string) string { return "/api/v1/shows/" + url.PathEscape(id) + rest }

// writeJSON writes what a program reads, indented for the person who looks at it all the same.
func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// decimals is the number of digits behind the point of the currencies that do not have two (ISO 4217).
var decimals = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0, "UGX": 0, "UYI": 0,
	"VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0, "BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
}

// money writes an amount of minor units for people: 19500 INR is 195.00 INR.
func money(amount int64, currency string) string {
	places, special := decimals[currency]
	if !special {
		places = 2
	}
	digits := fmt.Sprintf("%0*d", places+1, amount)
	if places > 0 {
		digits = digits[:len(digits)-places] + "." + digits[len(digits)-places:]
	}
	return strings.TrimSpace(digits + " " + currency)
}
