*** Settings ***
Documentation       The controller is killed and comes back under traffic: nothing is lost, nothing is sent.
Resource            ../resources/coeus.resource
Suite Setup         Start Two Nodes With Pods
Suite Teardown      Stop Lab

*** Test Cases ***
No Packet Is Lost When The Controller Is Killed And Restarted
    Start Ping At 1 KHz    blue:p1    10.11.2.10    10000
    Sleep    1 s
    Stop Controller    KILL
    Sleep    2 s
    Start Controller
    ${lost}=    Packets Lost
    Should Be Equal As Integers    ${lost}    0

A Restart That Changes Nothing Sends Nothing
    Wait Until Keyword Succeeds    30 s    200 ms    Switches Are Connected
    FOR    ${node}    IN    1    2
        FOR    ${what}    IN    flow-mods    group-mods    meter-mods
            ${sent}=    Switch Leaf    ${node}    ${what}
            Should Be Equal As Integers    ${sent}    0    ${what} sent to node ${node}
        END
    END

New Neighbours Are Found Without A Controller
    [Documentation]    ARP is answered by the switch itself.
    Stop Controller    KILL
    Forget Neighbours    blue:p1
    Ping Should Pass    blue:p1    10.11.2.11
    Ping Should Pass    blue:p1    10.11.1.1
    Start Controller

A Pod Put After The Restart Works
    Open Session
    Create And Plug Pod    p5    blue    1    10.11.1.15    10.11.1.1
    All Pods Should Reach All    blue
    Tables Should Be As From Scratch

A Switch That Stays Away Is Shown So After A Restart
    [Documentation]    Its database was connected all the time, and went when nobody looked.
    Stop Controller    KILL
    Kill Daemon Of    2    vswitchd
    Start Controller
    Open Session
    Wait Until Keyword Succeeds    30 s    200 ms    Switch Should Be Lost    2    not connected since the controller started
    ${session}=    Switch Leaf    2    openflow-session
    Should Match Regexp    ${session}[last-seen]    ^20

When And Why A Switch Was Lost Is Known After A Restart
    Start Daemon Of    2    vswitchd
    Wait Until Keyword Succeeds    30 s    500 ms    Switches Are Connected
    Kill Daemon Of    2    vswitchd
    Wait Until Keyword Succeeds    30 s    200 ms    Switch Should Be Lost    2    ${EMPTY}
    ${before}=    Switch Leaf    2    openflow-session
    Stop Controller
    Start Controller
    Open Session
    Wait Until Keyword Succeeds    30 s    200 ms    Switch Should Be Lost    2    ${EMPTY}
    ${after}=    Switch Leaf    2    openflow-session
    Should Be Equal    ${before}[last-seen]    ${after}[last-seen]
    Should Be Equal    ${before}[last-loss]    ${after}[last-loss]
    Start Daemon Of    2    vswitchd
    Wait Until Keyword Succeeds    30 s    500 ms    Switches Are Connected

*** Keywords ***
Start Two Nodes With Pods
    Start Lab And Session    2
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    Create And Plug Pod    p3    blue    2    10.11.2.10    10.11.2.1
    Create And Plug Pod    p4    blue    2    10.11.2.11    10.11.2.1
    All Pods Should Reach All    blue

Switch Should Be Lost
    [Arguments]    ${node}    ${reason}
    ${session}=    Switch Leaf    ${node}    openflow-session
    Should Not Be True    ${session}[connected]
    Should Contain    ${session}[last-loss][reason]    ${reason}

Switches Are Connected
    FOR    ${node}    IN    1    2
        ${connected}=    Switch Leaf    ${node}    connected
        ${revision}=    Switch Leaf    ${node}    programmed-revision
        Should Be True    ${connected}
        Should Be True    int('${revision}') > 0
    END
