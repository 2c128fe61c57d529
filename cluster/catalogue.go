package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"
	_ "time/tzdata" // the same zones on every node, whatever is installed

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/fsm/wire"
)

// The Put methods create an object (created) or replace it; the same object again changes nothing. Errors: those of
// commands, a missing reference (ErrCityNotFound for a theatre, ErrTheatreNotFound for a screen), ErrCatalogueFull, or
// an *InvalidError.

// PutCity writes a city.
func (n *Node) PutCity(ctx context.Context, city *wire.City) (created bool, err error) {
	if refusal := meta.CheckCity(city); refusal != nil {
		return false, refused(refusal)
	}
	if _, err := time.LoadLocation(city.TimeZone); err != nil || city.TimeZone == "Local" {
		return false, &InvalidError{"timeZone", fmt.Sprintf("%q is not an IANA time zone such as Asia/Kolkata", city.TimeZone)}
	}
	return n.put(ctx, fieldPutCity, city)
}

// PutMovie writes a movie.
func (n *Node) PutMovie(ctx context.Context, movie *wire.Movie) (created bool, err error) {
	if refusal := meta.CheckMovie(movie); refusal != nil {
		return false, refused(refusal)
	}
	return n.put(ctx, fieldPutMovie, movie)
}

// PutTheatre writes a theatre.
func (n *Node) PutTheatre(ctx context.Context, theatre *wire.Theatre) (created bool, err error) {
	if refusal := meta.CheckTheatre(theatre); refusal != nil {
		return false, refused(refusal)
	}
	return n.put(ctx, fieldPutTheatre, theatre)
}

// PutScreen writes a screen. Shows that exist keep the layout they were made with. meta.ParseSpans reads the "1-4,5-8"
// of a row's seats and pairs, meta.AppendSpans writes it.
func (n *Node) PutScreen(ctx context.Context, screen *wire.Screen) (created bool, err error) {
	if refusal := meta.CheckScreen(screen); refusal != nil {
		return false, refused(refusal)
	}
	if _, err := fsm.NewLayout(screen.Layout); err != nil {
		return false, &InvalidError{"rows", err.Error()}
	}
	return n.put(ctx, fieldPutScreen, screen)
}

// put lets the meta group decide, no longer than ctx and the request timeout.
func (n *Node) put(ctx context.Context, field uint64, object body) (created bool, err error) {
	_, deadline, err := n.begin()
	if err != nil {
		return false, err
	}
	defer n.inside.leave()
	if sooner, ok := ctx.Deadline(); ok && sooner.Before(deadline) {
		deadline = sooner
	}
	if ctx.Err() != nil {
		return false, fmt.Errorf("%w: %w", ErrNotApplied, ctx.Err())
	}
	result, err := n.agree(field, object, deadline)
	if err != nil {
		return false, err
	}
	return result.Created, refused(result)
}

// refused gives a result of the meta group as an error; nil for CodeOK.
func refused(result *meta.Result) error {
	switch result.Code {
	case meta.CodeOK:
		return nil
	case meta.CodeInvalid:
		return &InvalidError{result.Field, result.Reason}
	case meta.CodeCityNotFound:
		return ErrCityNotFound
	case meta.CodeMovieNotFound:
		return ErrMovieNotFound
	case meta.CodeTheatreNotFound:
		return ErrTheatreNotFound
	case meta.CodeScreenNotFound:
		return ErrScreenNotFound
	case meta.CodeFull:
		if result.Field == "answers" {
			return ErrOverloaded
		}
		return fmt.Errorf("%w: too many %s", ErrCatalogueFull, result.Field)
	default: // not born, too late: the node would not be ready
		return fmt.Errorf("%w: %s", ErrNotReady, result.Code)
	}
}

// isReference says whether an error is about something that a command names and that is not there.
func isReference(err error) bool {
	for _, reference := range []error{ErrCityNotFound, ErrMovieNotFound, ErrTheatreNotFound, ErrScreenNotFound} {
		if errors.Is(err, reference) {
			return true
		}
	}
	return false
}
