package teamstore

import "context"

// AddTask implements [Tasks].
func (d *Dir) AddTask(ctx context.Context, space string, t Task) (Task, error) {
	return addTaskTo(ctx, d, space, t)
}

// Task implements [Tasks].
func (d *Dir) Task(ctx context.Context, space, id string) (Task, error) {
	return taskOf(ctx, d, space, id)
}

// Tasks implements [Tasks].
func (d *Dir) Tasks(ctx context.Context, space string, f Filter) ([]Task, error) {
	return tasksOf(ctx, d, space, f)
}

// UpdateTask implements [Tasks].
func (d *Dir) UpdateTask(ctx context.Context, space, id string, c Change) (Task, error) {
	return changeTaskOf(ctx, d, space, id, c)
}

// CreateTeam implements [Teams].
func (d *Dir) CreateTeam(ctx context.Context, space, name, leader string, members []string, task string) (Team, error) {
	return makeTeam(ctx, d, space, name, leader, members, task)
}

// Disband implements [Teams].
func (d *Dir) Disband(ctx context.Context, space, team string) (Team, error) {
	return disbandTeam(ctx, d, space, team)
}

// AddMember implements [Teams].
func (d *Dir) AddMember(ctx context.Context, space, team, agent string) (Team, error) {
	return addMemberTo(ctx, d, space, team, agent)
}

// RemoveMember implements [Teams].
func (d *Dir) RemoveMember(ctx context.Context, space, team, agent string) (Team, error) {
	return removeMemberOf(ctx, d, space, team, agent)
}

// TeamOf implements [Teams].
func (d *Dir) TeamOf(ctx context.Context, space, agent string) (Team, error) {
	return teamWith(ctx, d, space, agent)
}

// Teams implements [Teams].
func (d *Dir) Teams(ctx context.Context, space string) ([]Team, error) {
	return teamsOf(ctx, d, space)
}

// Unregister implements [Agents].
func (d *Dir) Unregister(ctx context.Context, space, name string) error {
	return d.do(ctx, space, &unregister{name})
}

// Send implements [Mail].
func (d *Dir) Send(ctx context.Context, space string, msg Message) ([]string, error) {
	return sendTo(ctx, d, &d.watchers, space, msg, d.Box)
}
