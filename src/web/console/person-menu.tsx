import { useState } from "react";
import { SignInService } from "#client/proto/cloakroom/v1/sign_ins_pb.js";
import { useChange } from "./api/queries.js";
import { useSession } from "./session.js";
import { chooseTheme, chosenTheme, THEMES, type Theme } from "./theme.js";

const THEME_NAMES: Readonly<Record<Theme, string>> = { system: "System colours", light: "Light", dark: "Dark" };

/** Who is signed in, the colours, and the way out. */
export function PersonMenu({ onSignedOut }: { onSignedOut: () => void }) {
  const { who } = useSession();
  const [theme, setTheme] = useState(chosenTheme);
  const signOut = useChange(SignInService.method.signOut);
  const choose = (name: string) => {
    const chosen = THEMES.find((each) => each === name) ?? "system";
    chooseTheme(chosen);
    setTheme(chosen);
  };
  return (
    <div className="person">
      <bdi dir="auto">{who.email ?? who.userId}</bdi>
      <span className="role">{who.role}</span>
      <select aria-label="Colours" value={theme} onChange={(event) => choose(event.target.value)}>
        {THEMES.map((each) => (
          <option key={each} value={each}>
            {THEME_NAMES[each]}
          </option>
        ))}
      </select>
      <button
        type="button"
        disabled={signOut.isPending}
        onClick={() =>
          signOut.run({}, () => {
            onSignedOut();
            // Nothing that was shown stays in memory.
            location.assign("/console");
          })
        }
      >
        Sign out
      </button>
    </div>
  );
}
