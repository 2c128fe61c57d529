package meta

import "github.com/houseful/houseful/fsm"

// Code says how a command ended. Every code but CodeOK means that nothing was changed.
type Code uint8

// The codes.
const (
	CodeOK              Code = iota
	CodeCommandTooLate       // log time passed the command's notAfter: not applied, and never will be
	CodeFull                 // a limit is reached; Field says of what
	CodeInvalid              // Field and Reason say what is wrong
	CodeNotBorn              // the cluster has no birth record yet
	CodeAlreadyBorn          // the cluster has another birth record
	CodeCityNotFound         // the object names a city that is not there
	CodeMovieNotFound        //
	CodeTheatreNotFound      //
	CodeScreenNotFound       //
	codeEnd
)

var codeNames = [...]string{
	"OK", "COMMAND_TOO_LATE", "FULL", "INVALID", "NOT_BORN", "ALREADY_BORN",
	"CITY_NOT_FOUND", "MOVIE_NOT_FOUND", "THEATRE_NOT_FOUND", "SCREEN_NOT_FOUND",
}

func (c Code) String() string { return codeNames[c] }

// Result is a command's answer. It is immutable, and shared by everybody who asks again with the same command id.
type Result struct {
	Code    Code
	Created bool     // the object was not there before
	Changed bool     // false: the same object was there already
	Field   string   // CodeInvalid: the field as the API names it; CodeFull: what there is too much of
	Reason  string   // CodeInvalid
	Now     fsm.Time // log time at which the command was applied
}

func invalid(field, reason string) *Result {
	return &Result{Code: CodeInvalid, Field: field, Reason: reason}
}

func full(what string) *Result { return &Result{Code: CodeFull, Field: what} }
