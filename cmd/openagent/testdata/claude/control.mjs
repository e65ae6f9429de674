// Control requests, sessions, states, tasks and errors.
import { existsSync, readFileSync } from 'node:fs'
import { ask, assert, input, message, scenario, succeeded } from './harness.mjs'

const two = [{ text: 'one' }, { text: 'two' }]
const free = { permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true }
const agent = (more, id = 'a1') => ({ calls: [{ id, name: 'Agent', input: { subagent_type: 'general-purpose', description: 'look', prompt: 'look around', ...more } }] })

// turns sends texts one after the other; between has a function for the end of each turn.
async function turns(texts, options, between = []) {
  const p = input(texts[0])
  let n = 0
  return ask(p.stream, options, async (m, q) => {
    if (m.type !== 'result') return
    await between[n]?.(q, m)
    n++
    if (n < texts.length) p.send(texts[n])
    else p.end()
  })
}

scenario('two prompts', { steps: two }, async () => {
  const r = await turns(['hi', 'again'], {})
  succeeded(r, 'two')
  assert.equal(r.of('system', 'init').length, 2)
  const [a, b] = r.of('result')
  assert.ok(b.total_cost_usd > a.total_cost_usd)
  const model = Object.keys(b.modelUsage)[0]
  assert.ok(b.modelUsage[model].outputTokens > a.modelUsage[model].outputTokens)
})
scenario('changes', { steps: two, asked: ['claude-haiku-4-5'] }, async () => {
  let usage, failed, models
  const r = await turns(['hi', 'again'], {}, [async q => {
    await q.setModel('claude-haiku-4-5')
    await q.setPermissionMode('acceptEdits')
    await q.setMaxThinkingTokens(0)
    await q.setMaxThinkingTokens(null)
    await q.applyFlagSettings({ effortLevel: 'low' })
    usage = await q.getContextUsage()
    try { await q.setPermissionMode('bypassPermissions') } catch (e) { failed = e }
    models = await q.supportedModels()
  }])
  succeeded(r, 'two')
  assert.match(String(failed), /allow-dangerously-skip-permissions/)
  assert.ok(r.of('system', 'status').some(m => m.permissionMode === 'acceptEdits'))
  assert.ok(usage.totalTokens > 0 && usage.maxTokens > 0 && usage.categories.some(c => c.id === 'system_prompt'), JSON.stringify(usage))
  assert.equal(models[0].value, 'default')
})
scenario('interrupt of a call', { steps: [{ calls: [{ id: 'b1', name: 'Bash', input: { command: 'sleep 60' } }] }] }, async () => {
  const r = await ask('run', { ...free }, async (m, q) => {
    if (m.type === 'assistant') await q.interrupt()
  })
  assert.equal(r.result.subtype, 'error_during_execution')
  assert.equal(r.result.terminal_reason, 'aborted_tools')
})
scenario('interrupt', { steps: [{ text: 'a long text that takes its time', pieces: 30, event_delay: '100ms' }, { text: 'two' }] }, async () => {
  const p = input('hi')
  let receipt, n = 0
  const r = await ask(p.stream, { includePartialMessages: true }, async (m, q) => {
    if (m.type === 'stream_event' && !receipt) receipt = await q.interrupt()
    if (m.type === 'result') { if (n++ === 0) p.send('again'); else p.end() }
  })
  succeeded(r, 'two')
  assert.equal(r.of('result')[0].subtype, 'error_during_execution')
  assert.equal(r.of('result')[0].is_error, true)
  assert.ok(r.of('user').some(m => JSON.stringify(m.message).includes('[Request interrupted by user]')))
})
scenario('partial messages', { steps: [{ text: 'abcdef', pieces: 3 }] }, async () => {
  const r = await ask('hi', { includePartialMessages: true })
  succeeded(r, 'abcdef')
  const kinds = r.of('stream_event').map(m => m.event.type)
  assert.equal(kinds[0], 'message_start')
  assert.equal(kinds.at(-1), 'message_stop')
})
scenario('resume and fork', { steps: [{ text: 'one' }, { text: 'two' }, { text: 'three' }], asked: ['first words'] }, async () => {
  const a = await ask('first words', { sessionId: '11111111-2222-4333-8444-555555555555' })
  succeeded(a, 'one')
  assert.equal(a.result.session_id, '11111111-2222-4333-8444-555555555555')
  const b = await ask('again', { resume: a.result.session_id })
  succeeded(b, 'two')
  assert.equal(b.result.session_id, a.result.session_id)
  const c = await ask('third', { resume: a.result.session_id, forkSession: true })
  succeeded(c, 'three')
  assert.notEqual(c.result.session_id, a.result.session_id)
})
scenario('continue without a session', { steps: [{ text: 'one' }] }, async () => {
  succeeded(await ask('hi', { continue: true }), 'one')
})
scenario('turn limit', { steps: [{ calls: [{ id: 'r1', name: 'Read', input: { file_path: 'a.txt' } }] }], files: { 'a.txt': 'x' } }, async () => {
  const r = await ask('read', { maxTurns: 1 })
  assert.equal(r.result.subtype, 'error_max_turns')
  assert.ok(r.result.errors.length)
})
scenario('refused key', { steps: [{ status: 401, message: 'no such key' }] }, async () => {
  const r = await ask('hi')
  assert.equal(r.result.is_error, true)
  assert.equal(r.result.api_error_status, 401)
  assert.equal(r.of('assistant')[0].error, 'authentication_failed')
  assert.equal(r.of('assistant')[0].message.model, '<synthetic>')
})
scenario('retries', { steps: [{ status: 529, message: 'overloaded', retry_after: 1 }, { text: 'one' }] }, async () => {
  const r = await ask('hi')
  succeeded(r, 'one')
  assert.equal(r.of('system', 'api_retry')[0].error_status, 529)
})
scenario('rewind files', { steps: [{ calls: [{ id: 'w1', name: 'Write', input: { file_path: 'a.txt', content: 'new\n' } }] }, { text: 'one' }] }, async () => {
  const p = input()
  p.send({ ...message('write'), uuid: '99999999-2222-4333-8444-555555555555' })
  let dry, done, unknown
  const r = await ask(p.stream, { ...free, enableFileCheckpointing: true, extraArgs: { 'replay-user-messages': null } }, async (m, q) => {
    if (m.type !== 'result') return
    const id = '99999999-2222-4333-8444-555555555555'
    dry = await q.rewindFiles(id, { dryRun: true })
    assert.equal(readFileSync('a.txt', 'utf8'), 'new\n')
    done = await q.rewindFiles(id)
    unknown = await q.rewindFiles('99999999-0000-4333-8444-555555555555', { dryRun: true })
    p.end()
  })
  succeeded(r, 'one')
  assert.equal(r.of('user').find(m => m.isReplay)?.uuid, '99999999-2222-4333-8444-555555555555')
  assert.equal(dry.canRewind, true, JSON.stringify(dry))
  assert.equal(done.canRewind, true, JSON.stringify(done))
  assert.equal(unknown.canRewind, false)
  assert.match(unknown.error, /has no fact or message 99999999-0000.*; name the uuid of a message/)
  assert.doesNotMatch(unknown.error, /--|openagent/)
  assert.deepEqual(done.filesChanged.map(f => f.split('/').at(-1)), ['a.txt'])
  assert.equal(existsSync('a.txt'), false)
})
scenario('background agent', { steps: [agent({ run_in_background: true }), { text: 'started' }, { text: 'all quiet', delay: '3s' }, { text: 'it is quiet' }], asked: ['all quiet'] }, async () => {
  const r = await ask('look', { ...free })
  assert.equal(r.error, undefined, `${r.error} ${r.stderr}`)
  const results = r.of('result')
  assert.equal(results.length, 2, JSON.stringify(results.map(x => x.result)))
  assert.equal(results[1].origin?.kind, 'task-notification')
  const started = r.of('system', 'task_started')[0]
  assert.equal(started.is_backgrounded, true)
  assert.deepEqual(r.of('system', 'background_tasks_changed').map(m => m.tasks.map(t => [t.task_id, t.task_type])), [[[started.task_id, 'local_agent']], []])
  assert.deepEqual(r.of('system', 'task_updated').map(m => m.patch.status), ['completed'])
  assert.equal(r.of('system', 'task_notification').length, 1)
  assert.equal(r.of('system', 'task_notification')[0].status, 'completed')
  assert.equal(r.of('system', 'init').length, 2)
})
scenario('foreground agent', { steps: [agent({}), { calls: [{ id: 'r1', name: 'Read', input: { file_path: 'a.txt' } }] }, { text: 'quiet' }, { text: 'done' }], files: { 'a.txt': 'x' } }, async () => {
  const r = await ask('look', free)
  succeeded(r, 'done')
  const [p] = r.of('system', 'task_progress'), [n] = r.of('system', 'task_notification')
  assert.equal(p.last_tool_name, 'Read')
  assert.equal(p.tool_use_id, 'a1')
  assert.equal(n.usage.tool_uses, 1)
  assert.ok(p.usage.total_tokens > 0 && n.usage.total_tokens > p.usage.total_tokens)
  assert.equal(r.of('system', 'background_tasks_changed').length, 0)
})
scenario('background command', { steps: [{ calls: [{ id: 'b1', name: 'Bash', input: { command: 'sleep 0.5; echo moin', description: 'greet', run_in_background: true } }] }, { text: 'started' }, { text: 'it has ended' }], asked: ['Background command bash_1'] }, async () => {
  const p = input('run')
  const r = await ask(p.stream, free, m => { if (m.type === 'result' && m.origin) p.end() })
  succeeded(r, 'it has ended')
  const [started] = r.of('system', 'task_started'), [end] = r.of('system', 'task_notification')
  assert.deepEqual([started.task_type, started.tool_use_id, started.description, started.is_backgrounded], ['local_bash', 'b1', 'greet', true])
  assert.equal(r.of('user')[0].tool_use_result.backgroundTaskId, started.task_id)
  assert.deepEqual([end.task_id, end.status], [started.task_id, 'completed'])
  assert.equal(readFileSync(end.output_file, 'utf8'), 'moin\n')
  assert.deepEqual(r.of('system', 'background_tasks_changed').map(m => m.tasks.length), [1, 0])
  assert.equal(r.result.origin.kind, 'task-notification')
})
scenario('background command stopped', { steps: [{ calls: [{ id: 'b1', name: 'Bash', input: { command: 'sleep 60', run_in_background: true } }] }, { text: 'started' }], requests: 2 }, async () => {
  const p = input('run')
  let id
  const r = await ask(p.stream, free, async (m, q) => {
    if (m.type === 'result') await q.stopTask(id)
    if (m.subtype === 'task_started') id = m.task_id
    if (m.subtype === 'background_tasks_changed' && m.tasks.length === 0) p.end()
  })
  succeeded(r, 'started')
  assert.equal(r.of('system', 'task_notification')[0].status, 'stopped')
  assert.equal(r.of('system', 'task_updated')[0].patch.status, 'killed')
})
const looks = [{ thinking: 'hm', text: 'I look', calls: [{ id: 'r1', name: 'Read', input: { file_path: 'a.txt' } }, { id: 'r2', name: 'Read', input: { file_path: 'a.txt' } }] }, { text: 'two' }, { text: 'three' }]
// blocks checks the lines of the first answer.
const blocks = (r, kinds) => {
  const first = r.of('assistant').slice(0, -1)
  assert.deepEqual(first.map(m => m.message.content.map(b => b.type).join()), kinds)
  assert.equal(new Set(first.map(m => m.message.id)).size, 1)
  assert.equal(new Set(first.map(m => m.uuid)).size, kinds.length)
  assert.ok(first.every(m => m.message.stop_reason === null))
  return first
}
scenario('blocks', { steps: looks, files: { 'a.txt': 'x' } }, async () => {
  const r = await ask('look', {})
  succeeded(r, 'two')
  const first = blocks(r, ['thinking', 'text', 'tool_use', 'tool_use'])
  succeeded(await ask('again', { resume: r.result.session_id, resumeSessionAt: first[1].uuid, forkSession: true }), 'three')
})
scenario('blocks with pieces', { steps: looks, files: { 'a.txt': 'x' } }, async () => {
  const r = await ask('look', { includePartialMessages: true })
  succeeded(r, 'two')
  const first = blocks(r, ['thinking,text', 'tool_use', 'tool_use'])
  const pieces = r.of('stream_event').filter(m => m.event.type === 'message_start')
  assert.deepEqual(pieces.map(m => m.event.message.id), [first[0].message.id, r.of('assistant').at(-1).message.id])
  assert.equal(r.of('system', 'status').filter(m => m.status === 'requesting').length, 2)
  assert.equal(r.of('tool_progress').length, 0)
  succeeded(await ask('again', { resume: r.result.session_id, resumeSessionAt: first[0].uuid, forkSession: true }), 'three')
})
scenario('changed files', { steps: [{ calls: [{ id: 'e1', name: 'Read', input: { file_path: 'a.txt' } }] }, { calls: [{ id: 'e2', name: 'Edit', input: { file_path: 'a.txt', old_string: 'two', new_string: 'zwei' } }, { id: 'w1', name: 'Write', input: { file_path: 'n.txt', content: 'n' } }, { id: 'b1', name: 'Bash', input: { command: 'true' } }] }, { text: 'done' }], files: { 'a.txt': 'one\ntwo\nthree\n' } }, async () => {
  const r = await ask('change', free)
  succeeded(r, 'done')
  const result = id => r.of('user').find(m => m.message.content[0].tool_use_id === id).tool_use_result
  assert.equal(result('e2').originalFile, 'one\ntwo\nthree\n')
  assert.equal(result('w1').originalFile, null)
  assert.equal(result('b1').stdout, '')
})
scenario('states', { steps: [{ text: 'one' }] }, async () => {
  const r = await ask('hi', { env: { ...process.env, CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1' } })
  succeeded(r, 'one')
  assert.deepEqual(r.of('system', 'session_state_changed').map(m => m.state), ['running', 'idle'])
})
scenario('states after a message that came twice', { steps: [{ text: 'one' }] }, async () => {
  const id = '22222222-2222-4222-8222-222222222222', p = input()
  let idle = 0
  p.send({ ...message('hi'), uuid: id })
  const r = await ask(p.stream, { env: { ...process.env, CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1' } }, m => {
    if (m.type === 'result') p.send({ ...message('hi'), uuid: id })
    if (m.state === 'idle' && ++idle === 2) p.end()
  })
  succeeded(r, 'one')
  assert.equal(r.of('result').length, 1)
})
scenario('prompt that closes early', { steps: [{ text: 'one' }] }, async () => {
  const c = new AbortController()
  const r = await ask('hi', { abortController: c }, m => { if (m.subtype === 'init') c.abort() })
  assert.ok(r.error || r.result)
})
const gone = async pid => {
  for (let i = 0; i < 500; i++) {
    try { process.kill(pid, 0) } catch { return true }
    await new Promise(r => setTimeout(r, 20))
  }
}
for (const [name, stop] of [['close', (c, q) => q.close()], ['abort', c => c.abort()]]) {
  scenario(name + ' ends the process', { steps: [{ text: 'a long text that takes its time', pieces: 30, event_delay: '1s' }] }, async () => {
    const c = new AbortController()
    let pid
    await ask('hi', { abortController: c, includePartialMessages: true }, async (m, q) => {
      if (m.type === 'stream_event' && !pid) {
        pid = (await q.initializationResult()).pid
        stop(c, q)
      }
    })
    assert.ok(await gone(pid), 'the process is still there')
  })
}
scenario('process ends by itself', { steps: [{ text: 'one' }] }, async () => {
  let pid
  const r = await ask('hi', {}, async (m, q) => { if (m.subtype === 'init') pid = (await q.initializationResult()).pid })
  succeeded(r, 'one')
  assert.ok(await gone(pid))
})
scenario('project files are read', { steps: [{ text: 'one' }], files: { 'CLAUDE.md': 'Speak of turnips.' }, asked: ['turnips'] }, async () => {
  succeeded(await ask('hi', { settingSources: ['user', 'project'] }), 'one')
})
scenario('no setting sources', { steps: [{ text: 'one' }], files: { 'CLAUDE.md': 'Speak of turnips.' }, not: ['turnips'] }, async () => {
  succeeded(await ask('hi', { settingSources: [] }), 'one')
})
