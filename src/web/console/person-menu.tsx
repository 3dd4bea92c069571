import { useState } from "react";
import { Link } from "wouter";
import { SignInService } from "#client/proto/cloakroom/v1/sign_ins_pb.js";
import { useChange } from "./api/queries.js";
import { Icon } from "./components/icon.js";
import { SIGN_INS } from "./navigation.js";
import { useSession } from "./session.js";
import { chooseTheme, chosenTheme, THEMES, type Theme } from "./theme.js";

const THEME_NAMES: Readonly<Record<Theme, string>> = { system: "System", light: "Light", dark: "Dark" };

interface PersonMenuProps {
  readonly onSignedOut: () => void;
  /** A link was followed. */
  readonly onLeave: () => void;
}

/** Who is signed in, their sign-ins, the colours, and the way out. */
export function PersonMenu({ onSignedOut, onLeave }: PersonMenuProps) {
  const { who, can } = useSession();
  const [theme, setTheme] = useState(chosenTheme);
  const signOut = useChange(SignInService.method.signOut);
  const choose = (name: string) => {
    const chosen = THEMES.find((each) => each === name) ?? "system";
    chooseTheme(chosen);
    setTheme(chosen);
  };
  const leave = () => {
    onSignedOut();
    // Nothing that was shown stays in memory.
    location.assign("/console");
  };
  return (
    <div className="person">
      {can(SIGN_INS.operation) && (
        <Link href={SIGN_INS.path} className="nav-item" title={SIGN_INS.name} onClick={onLeave}>
          <Icon name={SIGN_INS.icon} />
          <span>{SIGN_INS.name}</span>
        </Link>
      )}
      <p className="who">
        <bdi dir="auto" title={who.userId}>
          {who.email ?? who.userId}
        </bdi>
        <span className="pill">{who.role}</span>
      </p>
      <div className="person-controls">
        <select aria-label="Colours" value={theme} onChange={(event) => choose(event.target.value)}>
          {THEMES.map((each) => (
            <option key={each} value={each}>
              {THEME_NAMES[each]}
            </option>
          ))}
        </select>
        <button type="button" disabled={signOut.isPending} onClick={() => signOut.run({}, leave)}>
          Sign out
        </button>
      </div>
      {signOut.problem && <p className="wrong">You are still signed in: {signOut.problem.message}</p>}
    </div>
  );
}
