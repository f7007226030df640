export const GOALS: Readonly<Record<string, string>>
export function goalsIn(text: string): string[]
export function scriptsOfGoals(): Map<string, string[]>
