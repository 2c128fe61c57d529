package rest

import (
	"errors"

	"github.com/houseful/houseful/cluster"
	"github.com/houseful/houseful/fsm/meta"
)

// The `error` values of the catalogue.
const (
	codeCityNotFound    = "CITY_NOT_FOUND"
	codeMovieNotFound   = "MOVIE_NOT_FOUND"
	codeTheatreNotFound = "THEATRE_NOT_FOUND"
	codeScreenNotFound  = "SCREEN_NOT_FOUND"
)

func errNoCity() *apiError    { return notFound(codeCityNotFound, "there is no such city") }
func errNoMovie() *apiError   { return notFound(codeMovieNotFound, "there is no such movie") }
func errNoTheatre() *apiError { return notFound(codeTheatreNotFound, "there is no such theatre") }
func errNoScreen() *apiError  { return notFound(codeScreenNotFound, "there is no such screen") }
func errNoShow() *apiError    { return notFound(codeShowNotFound, "there is no such show") }

// errEntryGone says that the catalogue still lists a show that its shard has let go of. It is left out.
var errEntryGone = errors.New("the show is gone")

// catalogueError gives the answer to an error of the catalogue. Errors of commands pass through to the server, which
// knows them.
func catalogueError(err error) error {
	var wrong *cluster.InvalidError
	switch {
	case errors.Is(err, cluster.ErrCityNotFound):
		return errNoCity()
	case errors.Is(err, cluster.ErrMovieNotFound):
		return errNoMovie()
	case errors.Is(err, cluster.ErrTheatreNotFound):
		return errNoTheatre()
	case errors.Is(err, cluster.ErrScreenNotFound):
		return errNoScreen()
	case errors.Is(err, cluster.ErrCatalogueFull):
		return invalid("id", "the catalogue holds as many objects of this kind as it may")
	case errors.Is(err, meta.ErrCursor):
		return invalid("cursor", "is not a cursor of this list")
	case errors.As(err, &wrong):
		return invalid(wrong.Field, "%s", wrong.Reason)
	}
	return err
}
