package wire

// Clear empties a message that is used again and keeps the room of its lists. (The generated Reset also registers the
// message's type again, which costs as much as reading a hold.)
func (h *Hold) Clear() {
	h.ShowId, h.UserId, h.UserName, h.Contact = "", "", "", nil
	clear(h.Labels) // they point into what was read
	h.Labels, h.SeatIds = h.Labels[:0], h.SeatIds[:0]
	h.Replace, h.IdempotencyKey, h.Fingerprint = nil, nil, nil
}
