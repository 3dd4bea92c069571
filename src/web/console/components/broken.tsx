import { Component, type ReactNode } from "react";

/**
 * Shows a screen that failed. After an upgrade the server no longer has the parts of the page that were not loaded yet,
 * so a reload helps.
 */
export class Broken extends Component<{ children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override render() {
    if (!this.state.hasFailed) return this.props.children;
    return (
      <div className="note problem" role="alert">
        <p>This part of the console could not be shown. The server may have been upgraded meanwhile.</p>
        <button type="button" onClick={() => location.reload()}>
          Reload
        </button>
      </div>
    );
  }
}
