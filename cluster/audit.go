package cluster

import (
	"context"

	"github.com/houseful/houseful/fsm"
	"github.com/houseful/houseful/fsm/meta"
)

// GroupAudit is the audit of one group.
type GroupAudit struct {
	Group  string // "meta" or the shard's number
	Report *fsm.AuditReport
}

// Audit recomputes everything in every group of this node, one after the other, beside the running groups.
func (n *Node) Audit(ctx context.Context) ([]GroupAudit, error) {
	shards, err := n.reading()
	if err != nil {
		return nil, err
	}
	var view *meta.Capture
	n.readMeta(func(m *meta.Machine) { view = m.Capture() })
	defer view.Release()
	audits := []GroupAudit{{meta.MetaGroup, view.Audit()}}
	for _, s := range shards {
		view := s.capture()
		report, err := view.Audit(ctx)
		view.Release()
		if err != nil {
			return nil, err
		}
		audits = append(audits, GroupAudit{s.name, report})
	}
	return audits, nil
}

// AuditShow recomputes everything about a show from scratch, beside the running shard. ok is false when it does not
// exist.
func (n *Node) AuditShow(ctx context.Context, id fsm.ShowID) (audit *fsm.ShowAudit, ok bool, err error) {
	shards, err := n.reading()
	if err != nil {
		return nil, false, err
	}
	view := shardOfShow(shards, string(id)).capture()
	defer view.Release()
	audit, err = view.AuditShow(ctx, id)
	return audit, audit != nil, err
}
