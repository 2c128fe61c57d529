package cluster

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/meta"
	"github.com/houseful/houseful/fsm/wire"
)

// A show is accepted by its shard alone, and must then be listed in the catalogue. The shard remembers which of its
// shows the catalogue may lack (fsm.Machine.BrowsePending). PutShow lists its show itself before it answers; the loop
// here does the rest, on the node that leads the shard: it lists what a crash or a timeout left out, takes off what
// the shard has let go of, and tells the shard what has arrived. Every step may come twice: the catalogue keeps the
// greatest revision, and the shard only remembers what it has not heard of.

// list brings a show's browse entry, or its removal, to the catalogue, unless it is there.
func (n *Node) list(item fsm.BrowseItem, deadline time.Time) error {
	if n.hooks.beforeList != nil {
		if err := n.hooks.beforeList(item); err != nil {
			return err
		}
	}
	var listed uint64
	n.readMeta(func(m *meta.Machine) {
		if entry, ok := m.ShowEntry(string(item.Show)); ok {
			listed = entry.Revision
		}
	})
	if item.Definition == nil {
		if listed == 0 || listed > item.Revision {
			return nil
		}
		result, err := n.agree(fieldRemoveShowEntry, &wire.RemoveShowEntry{ShowId: string(item.Show), Revision: item.Revision}, deadline)
		return settled(result, err)
	}
	if listed >= item.Revision {
		return nil
	}
	entry, err := browseEntry(item)
	if err != nil {
		return err
	}
	result, err := n.agree(fieldPutShowEntry, entry, deadline)
	return settled(result, err)
}

func settled(result *meta.Result, err error) error {
	if err == nil && result.Code != meta.CodeOK {
		return fmt.Errorf("the catalogue refuses: %s %s %s", result.Code, result.Field, result.Reason)
	}
	return err
}

// browseEntry is a show as browsing lists it.
func browseEntry(item fsm.BrowseItem) (*wire.ShowEntry, error) {
	d := item.Definition
	zone, err := time.LoadLocation(d.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("time zone of show %s: %w", item.Show, err)
	}
	return &wire.ShowEntry{
		ShowId: string(item.Show), Revision: item.Revision, CityId: d.CityID, TheatreId: d.TheatreID, ScreenId: d.Spec.ScreenId,
		MovieId: d.Spec.MovieId, LocalDate: uint32(DateOf(fsm.Time(d.Spec.StartsAtMs).Std().In(zone))),
		StartsAtMs: d.Spec.StartsAtMs, EndsAtMs: d.Spec.EndsAtMs, PriceFrom: slices.Min(d.TierPrices), Currency: d.Spec.Currency,
		MovieTitle: d.MovieTitle, TheatreName: d.TheatreName, ScreenName: d.ScreenName, TimeZone: d.TimeZone,
	}, nil
}

// DateOf is the date of a time in its own zone.
func DateOf(t time.Time) meta.Date {
	year, month, day := t.Date()
	return meta.Date(year*10_000 + int(month)*100 + day)
}

// healBrowse is the loop of one shard. It ends when the node stops.
func (n *Node) healBrowse(s *dataShard) {
	ticker := time.NewTicker(browseInterval)
	defer ticker.Stop()
	for {
		if s.group.Leads() {
			n.healOnce(s)
		}
		select {
		case <-s.browse:
		case <-ticker.C:
		case <-n.stop:
			return
		}
	}
}

// healOnce settles what is pending now, a batch at a time, until nothing is or something fails.
func (n *Node) healOnce(s *dataShard) {
	for {
		var pending []fsm.BrowseItem
		s.read(func(m *fsm.Machine) { pending = m.BrowsePending(browseBatch) })
		if len(pending) == 0 || n.stopping() {
			return
		}
		errs := make([]error, len(pending))
		deadline := time.Now().Add(n.config.RequestTimeout)
		var sending sync.WaitGroup
		for i, item := range pending { // at once, so that they share log entries
			sending.Go(func() { errs[i] = n.healShow(s, item, deadline) })
		}
		sending.Wait()
		for i, err := range errs {
			if err != nil {
				if !n.stopping() {
					n.logger.Warn("browse entry not settled; trying again", "show", pending[i].Show, "error", err)
				}
				return // the ticker brings us back
			}
		}
	}
}

func (n *Node) healShow(s *dataShard, item fsm.BrowseItem, deadline time.Time) error {
	if err := n.list(item, deadline); err != nil {
		return err
	}
	if n.hooks.beforeSent != nil {
		if err := n.hooks.beforeSent(item); err != nil {
			return err
		}
	}
	sent := &wire.BrowseSent{ShowId: string(item.Show), Revision: item.Revision}
	_, err := n.decide(s, drawCommandID(), fieldBrowseSent, sent, deadline)
	return err
}
