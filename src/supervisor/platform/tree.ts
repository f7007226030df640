import type { ProcessFacts } from './process-table.ts'

type Children = ReadonlyMap<number, readonly ProcessFacts[]>

export function childrenIn(processes: readonly ProcessFacts[]): Children {
  const children = new Map<number, ProcessFacts[]>()
  for (const facts of processes) {
    const siblings = children.get(facts.parent)
    if (siblings) siblings.push(facts)
    else children.set(facts.parent, [facts])
  }
  return children
}

export function withDescendants(roots: readonly ProcessFacts[], children: Children): ProcessFacts[] {
  const tree = new Map(roots.map((facts) => [facts.pid, facts]))
  // Iterating a map includes the entries that are added meanwhile.
  for (const pid of tree.keys()) for (const child of children.get(pid) ?? []) tree.set(child.pid, child)
  return [...tree.values()]
}
