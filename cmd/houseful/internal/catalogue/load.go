package catalogue

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/houseful/houseful/cmd/houseful/internal/client"
)

// Options say how Load goes about it.
type Options struct {
	// KeepExisting leaves objects alone that the server has, whatever they look like.
	KeepExisting bool
	// Done is called after each object, by one goroutine at a time; nil is allowed.
	Done func(Item, Outcome)
}

// Outcome is what happened to an object.
type Outcome string

// The outcomes.
const (
	Created  Outcome = "created"
	Replaced Outcome = "replaced" // or the same as before
	Kept     Outcome = "kept"     // it was there, and KeepExisting was asked for
)

// Load writes the document's objects: kind by kind, because of the references, and several of a kind at once. It
// stops after the kind in which something was refused. The error is a Problems when the server refused an object, and
// client.ErrUnreachable or the context's cause when it could not be asked. Loading again is safe at any time.
func Load(ctx context.Context, server *client.Client, document *Document, options Options) error {
	items := document.Items()
	for len(items) > 0 {
		end := slices.IndexFunc(items, func(item Item) bool { return item.Kind != items[0].Kind })
		if end < 0 {
			end = len(items)
		}
		if err := loadKind(ctx, server, document, items[:end], options); err != nil {
			return err
		}
		items = items[end:]
	}
	return nil
}

// loadKind writes objects that do not refer to each other.
func loadKind(ctx context.Context, server *client.Client, document *Document, items []Item, options Options) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(WorkersMax)
	var mu sync.Mutex // guards what follows, and options.Done
	var problems Problems
	for _, item := range items {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			outcome, err := loadItem(ctx, server, item, options.KeepExisting)
			mu.Lock()
			defer mu.Unlock()
			var refusal *client.Error
			switch {
			case err == nil:
				if options.Done != nil {
					options.Done(item, outcome)
				}
				return nil
			case errors.As(err, &refusal) && len(problems) < ProblemsMax:
				problems = append(problems, document.problem(item.section, item.index, item.ID, refusal.Field(), refusal.Error()))
				return nil
			case errors.As(err, &refusal):
				return problems
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if len(problems) > 0 {
		slices.SortFunc(problems, func(a, b Problem) int { return a.Line - b.Line })
		return problems
	}
	return nil
}

func loadItem(ctx context.Context, server *client.Client, item Item, keepExisting bool) (Outcome, error) {
	if keepExisting {
		err := server.Get(ctx, item.Path, nil)
		var refusal *client.Error
		if err == nil {
			return Kept, nil
		}
		if !errors.As(err, &refusal) || refusal.Status != http.StatusNotFound {
			return "", err
		}
	}
	created, err := server.Put(ctx, item.Path, item.Body)
	switch {
	case err != nil:
		return "", err
	case created:
		return Created, nil
	}
	return Replaced, nil
}
