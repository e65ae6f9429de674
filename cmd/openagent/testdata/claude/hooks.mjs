// Hooks that are functions of the host.
import { existsSync, readFileSync } from 'node:fs'
import { ask, assert, scenario, succeeded } from './harness.mjs'

const write = [{ calls: [{ id: 'w1', name: 'Write', input: { file_path: 'out.txt', content: 'x' } }] }, { text: 'done' }]
const bash = [{ calls: [{ id: 'b1', name: 'Bash', input: { command: 'echo moin' } }] }, { text: 'done' }]
const hooks = (event, fn, more) => ({ [event]: [{ ...more, hooks: [fn] }] })
const free = { permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true }

scenario('hook denies', { steps: write, asked: ['not this file'] }, async () => {
  const seen = []
  const r = await ask('write', { ...free, hooks: hooks('PreToolUse', async (input, id) => {
    seen.push([input, id])
    return { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: 'not this file' } }
  }, { matcher: 'Write' }) })
  succeeded(r, 'done')
  assert.equal(existsSync('out.txt'), false)
  const [input, id] = seen[0]
  assert.equal(id, 'w1')
  assert.equal(input.tool_use_id, 'w1')
  assert.equal(input.session_id, r.init.session_id)
  assert.equal(input.tool_input.content, 'x')
  for (const k of ['transcript_path', 'cwd', 'hook_event_name', 'permission_mode']) assert.ok(k in input, k)
  assert.equal(r.result.permission_denials[0].tool_use_id, 'w1')
})
scenario('hook allows and changes', { steps: write }, async () => {
  const r = await ask('write', { hooks: hooks('PreToolUse', async input => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow', updatedInput: { ...input.tool_input, content: 'changed' } } })) })
  succeeded(r, 'done')
  assert.equal(readFileSync('out.txt', 'utf8'), 'changed')
})
scenario('matcher passes over', { steps: write }, async () => {
  let called = 0
  const r = await ask('write', { ...free, hooks: hooks('PreToolUse', async () => { called++; return {} }, { matcher: 'Bash' }) })
  succeeded(r, 'done')
  assert.equal(called, 0)
  assert.ok(existsSync('out.txt'))
})
scenario('structured response', { steps: bash, asked: ['the bash hook says hello'] }, async () => {
  let got
  const r = await ask('run', { ...free, hooks: hooks('PostToolUse', async input => { got = input; return { hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: 'the bash hook says hello' } } }) })
  succeeded(r, 'done')
  assert.equal(got.tool_use_id, 'b1')
  assert.equal(got.tool_response.stdout, 'moin')
  assert.equal(got.tool_response.interrupted, false)
  assert.equal(typeof got.duration_ms, 'number')
})
scenario('failure hook', { steps: [{ calls: [{ id: 'r1', name: 'Read', input: { file_path: 'none.txt' } }] }, { text: 'done' }] }, async () => {
  let got
  const r = await ask('read', { ...free, hooks: hooks('PostToolUseFailure', async input => { got = input; return {} }) })
  succeeded(r, 'done')
  assert.equal(got.tool_use_id, 'r1')
  assert.ok(got.error)
})
scenario('prompt hook adds context', { steps: [{ text: 'done' }], asked: ['the weather is fine'] }, async () => {
  const r = await ask('hi', { hooks: hooks('UserPromptSubmit', async input => ({ hookSpecificOutput: { hookEventName: 'UserPromptSubmit', additionalContext: 'the weather is fine' } })) })
  succeeded(r, 'done')
})
scenario('prompt hook blocks', { steps: [], requests: 0 }, async () => {
  const r = await ask('hi', { hooks: hooks('UserPromptSubmit', async () => ({ decision: 'block', reason: 'not today' })) })
  succeeded(r)
  assert.match(r.result.result, /not today/)
})
scenario('stop hook goes on', { steps: [{ text: 'one' }, { text: 'two' }] }, async () => {
  let n = 0, active
  const r = await ask('hi', { hooks: hooks('Stop', async input => { active = input.stop_hook_active; return n++ ? {} : { decision: 'block', reason: 'say more' } }) })
  succeeded(r, 'two')
  assert.equal(n, 2)
  assert.equal(active, true)
})
scenario('continue false', { steps: bash.slice(0, 1) }, async () => {
  const r = await ask('run', { ...free, hooks: hooks('PostToolUse', async () => ({ continue: false, stopReason: 'enough' })) })
  succeeded(r)
  assert.equal(r.result.terminal_reason, 'hook_stopped')
})
scenario('hook throws', { steps: write }, async () => {
  const r = await ask('write', { ...free, hooks: hooks('PreToolUse', async () => { throw new Error('broken') }) })
  succeeded(r, 'done')
  assert.ok(existsSync('out.txt'))
  assert.equal(r.of('system', 'informational')[0].tag, 'hook_callback_failed')
})
scenario('hook throws and blocks', { steps: write }, async () => {
  const r = await ask('write', { ...free, hooks: hooks('PreToolUse', async () => { throw new Error('broken') }, { onFailure: 'block' }) })
  succeeded(r, 'done')
  assert.equal(existsSync('out.txt'), false)
})
const wrong = { 'a list': [], 'a text': 'x', 'no boolean': { continue: 'no' }, 'another event': { hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: 'c' } } }
for (const [name, answer] of Object.entries(wrong)) {
  scenario(`hook answers with ${name}`, { steps: write }, async () => {
    const r = await ask('write', { ...free, hooks: hooks('PreToolUse', async () => answer) })
    succeeded(r, 'done')
    assert.ok(existsSync('out.txt'))
    assert.equal(r.of('system', 'informational')[0]?.tag, 'hook_callback_failed')
  })
  scenario(`hook after a call answers with ${name}`, { steps: write }, async () => {
    const r = await ask('write', { ...free, hooks: hooks('PostToolUse', async () => answer === wrong['another event'] ? { hookSpecificOutput: { hookEventName: 'Stop' } } : answer) })
    succeeded(r, 'done')
    assert.equal(r.of('system', 'informational')[0]?.tag, 'hook_callback_failed')
  })
  scenario(`hook answers with ${name} and blocks`, { steps: write }, async () => {
    const r = await ask('write', { ...free, hooks: hooks('PreToolUse', async () => answer, { onFailure: 'block' }) })
    succeeded(r, 'done')
    assert.equal(existsSync('out.txt'), false)
  })
}
const denials = {
  'a denial': { hookSpecificOutput: { hookEventName: 'PostToolUse', permissionDecision: 'deny', permissionDecisionReason: 'not this file' } },
  'a decision': { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'deny', message: 'not this file' } } },
  'a block': { decision: 'block', reason: 'not this file', hookSpecificOutput: { hookEventName: 'Stop' } },
}
for (const [name, answer] of Object.entries(denials)) {
  scenario(`hook answers with ${name} for another event`, { steps: write, asked: ['not this file'] }, async () => {
    const r = await ask('write', { ...free, hooks: hooks('PreToolUse', async () => answer) })
    succeeded(r, 'done')
    assert.equal(existsSync('out.txt'), false)
  })
}
scenario('hook is late', { steps: write }, async () => {
  let signal
  const r = await ask('write', { ...free, hooks: hooks('PreToolUse', async (i, id, o) => { signal = o.signal; await new Promise(() => {}) }, { timeout: 0.2, onFailure: 'block' }) })
  succeeded(r, 'done')
  assert.equal(existsSync('out.txt'), false)
  assert.equal(signal.aborted, true)
})
scenario('async hook', { steps: bash }, async () => {
  const r = await ask('run', { ...free, hooks: hooks('PostToolUse', async () => ({ async: true, asyncTimeout: 5000 })) })
  succeeded(r, 'done')
})
scenario('batch hook', { steps: [{ calls: [{ id: 'b1', name: 'Bash', input: { command: 'echo 1' } }, { id: 'b2', name: 'Bash', input: { command: 'echo 2' } }] }, { text: 'done' }] }, async () => {
  let got
  const r = await ask('run', { ...free, hooks: hooks('PostToolBatch', async input => { got = input; return {} }) })
  succeeded(r, 'done')
  assert.deepEqual(got.tool_calls.map(c => c.tool_use_id).sort(), ['b1', 'b2'])
})
scenario('agent hooks', { steps: [{ calls: [{ id: 'a1', name: 'Agent', input: { subagent_type: 'general-purpose', description: 'd', prompt: 'p' } }] }, { calls: [{ id: 'b1', name: 'Bash', input: { command: 'echo 1' } }] }, { text: 'inner' }, { text: 'done' }] }, async () => {
  const seen = []
  const log = async (input, id) => { seen.push([input.hook_event_name, input.agent_type, id, input.session_id, input.agent_id, input.transcript_path, input.agent_transcript_path]); return {} }
  const r = await ask('run', { ...free, hooks: { ...hooks('SubagentStart', log), ...hooks('SubagentStop', log), ...hooks('PreToolUse', log, { matcher: 'Bash' }) } })
  succeeded(r, 'done')
  assert.deepEqual(seen.map(s => s[0]), ['SubagentStart', 'PreToolUse', 'SubagentStop'])
  assert.equal(seen[1][2], 'b1')
  assert.ok(seen.every(s => s[1] === 'general-purpose' && s[3] === r.init.session_id && s[4]))
  assert.ok(seen.every(s => s[5] === seen[0][5] && existsSync(s[5]) && !s[5].includes(s[4])), JSON.stringify(seen))
  assert.ok(seen[2][6].includes(seen[2][4]) && existsSync(seen[2][6]), JSON.stringify(seen))
})
scenario('permission hook', { steps: write }, async () => {
  const r = await ask('write', { hooks: hooks('PermissionRequest', async () => ({ hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'allow' } } })) })
  succeeded(r, 'done')
  assert.ok(existsSync('out.txt'))
})
scenario('hook lines', { steps: bash }, async () => {
  const r = await ask('run', { ...free, includeHookEvents: true, hooks: hooks('PreToolUse', async () => ({})) })
  succeeded(r, 'done')
  const [a] = r.of('system', 'hook_started'), [b] = r.of('system', 'hook_response')
  assert.equal(a.hook_name, 'PreToolUse:Bash')
  assert.equal(b.outcome, 'success')
  for (const k of ['hook_id', 'hook_event', 'output', 'stdout', 'stderr']) assert.ok(k in b, k)
})
